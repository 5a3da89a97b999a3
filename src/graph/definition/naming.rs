//! Names that definitions may use: kro.md 1.2 and 1.3.

use crate::graph::diagnostic::{Diagnostic, Location};

/// kro's own reserved words.
const KRO: &[&str] = &[
    "apiVersion",
    "context",
    "dependency",
    "dependencies",
    "each",
    "externalRef",
    "externalReference",
    "externalRefs",
    "externalReferences",
    "graph",
    "instance",
    "item",
    "items",
    "kind",
    "kro",
    "metadata",
    "namespace",
    "object",
    "resource",
    "resourcegraphdefinition",
    "resourceGraphDefinition",
    "resources",
    "root",
    "runtime",
    "schema",
    "self",
    "serviceAccountName",
    "spec",
    "status",
    "this",
    "variables",
    "vars",
    "version",
];

/// Words that CEL reserves.
const CEL: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// What is wrong with an id or an iterator's name, if anything.
pub(super) fn check_id(id: &str, what: &str, location: &Location) -> Option<Diagnostic> {
    if KRO.contains(&id) || CEL.contains(&id) {
        let message = format!("`{id}` is a reserved word and cannot be {what}");
        return Some(Diagnostic::error("reserved-word", message).at(location).suggest(format!("`{id}Resource`, for example")));
    }
    let lower_camel = id.starts_with(|c: char| c.is_ascii_lowercase()) && id.chars().all(|c| c.is_ascii_alphanumeric());
    if lower_camel {
        return None;
    }
    let problem = Diagnostic::error("naming", format!("`{id}` cannot be {what}: lowerCamelCase, letters and digits only"));
    Some(match lower_camel_case(id) {
        Some(better) => problem.at(location).suggest(format!("`{better}`")),
        None => problem.at(location),
    })
}

/// The id without what is not allowed in it.
fn lower_camel_case(id: &str) -> Option<String> {
    let mut out = String::new();
    let mut start_of_word = false;
    for c in id.chars() {
        match c {
            c if !c.is_ascii_alphanumeric() => start_of_word = !out.is_empty(),
            c if out.is_empty() => out.extend(c.is_ascii_alphabetic().then(|| c.to_ascii_lowercase())),
            c if start_of_word => {
                out.push(c.to_ascii_uppercase());
                start_of_word = false;
            }
            c => out.push(c),
        }
    }
    (!out.is_empty() && out != id).then_some(out)
}

/// Whether a text may be the kind that a definition defines.
pub(super) fn is_kind(text: &str) -> bool {
    text.len() <= 63 && text.starts_with(|c: char| c.is_ascii_uppercase()) && text.chars().all(|c| c.is_ascii_alphanumeric())
}

/// Whether a text may be the version that a definition defines: `v1`, `v1alpha1`, `v2beta3`.
pub(super) fn is_version(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('v') else { return false };
    let (major, rest) = digits(rest);
    let minor = match rest.strip_prefix("alpha").or_else(|| rest.strip_prefix("beta")) {
        Some(after) => digits(after),
        None => ("0", rest),
    };
    !major.is_empty() && !minor.0.is_empty() && minor.1.is_empty()
}

/// The leading digits, and the rest.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// Whether a text may be the kind of an object in a template: a word like those of DNS, in any case.
pub(super) fn is_object_kind(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !text.ends_with('-')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// Whether a text is `version` or `group/version`.
pub(super) fn is_api_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('/').collect();
    parts.len() <= 2 && parts.iter().all(|part| !part.is_empty())
}

/// Whether a text may be a DNS subdomain: `kro.run`, `workload-cluster1`.
pub(crate) fn is_dns_name(text: &str) -> bool {
    let word = |part: &str| {
        !part.is_empty()
            && !part.starts_with('-')
            && !part.ends_with('-')
            && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    text.len() <= 253 && text.split('.').all(word)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::graph::diagnostic::SourceFile;

    fn problem(id: &str) -> Option<(&'static str, Option<String>)> {
        let location = Location { file: SourceFile::new("x", id), line: 1, column: 1, offset: 0, length: id.len() };
        check_id(id, "an id", &location).map(|found| (found.category, found.suggestion))
    }

    #[test]
    fn ids_follow_kro() {
        assert_eq!(problem("natGateway1"), None);
        assert_eq!(problem("vpc-1"), Some(("naming", Some("`vpc1`".to_owned()))));
        assert_eq!(problem("Nat_gateway"), Some(("naming", Some("`natGateway`".to_owned()))));
        assert_eq!(problem("schema").unwrap().0, "reserved-word");
        assert_eq!(problem("while").unwrap().0, "reserved-word");
        assert_eq!(problem("").unwrap().0, "naming");
    }

    #[test]
    fn versions_and_kinds() {
        assert!(["v1", "v1alpha1", "v12beta3"].into_iter().all(is_version));
        assert!(["1", "v", "v1alpha", "v1gamma1", "kro.run/v1", "v1alpha1x"].into_iter().all(|text| !is_version(text)));
        assert!(is_kind("EksCluster") && !is_kind("eksCluster") && !is_kind("Eks-Cluster"));
        assert!(is_dns_name("kro.run") && is_dns_name("workload-cluster1") && !is_dns_name("Workload") && !is_dns_name("a..b"));
    }
}
