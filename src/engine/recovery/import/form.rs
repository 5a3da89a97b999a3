//! What ids look like, kind by kind: whoever types a name where an ARN is wanted is told.

/// How the id of an object is written: `what` for people.
struct Form {
    kind: &'static str,
    what: &'static str,
    fits: fn(&str) -> bool,
}

const FORMS: [Form; 12] = [
    Form { kind: "VPC", what: "vpc-…", fits: |id| is_of_ec2(id, "vpc-") },
    Form { kind: "Subnet", what: "subnet-…", fits: |id| is_of_ec2(id, "subnet-") },
    Form { kind: "InternetGateway", what: "igw-…", fits: |id| is_of_ec2(id, "igw-") },
    Form { kind: "NATGateway", what: "nat-…", fits: |id| is_of_ec2(id, "nat-") },
    Form { kind: "ElasticIPAddress", what: "eipalloc-…", fits: |id| is_of_ec2(id, "eipalloc-") },
    Form { kind: "RouteTable", what: "rtb-…", fits: |id| is_of_ec2(id, "rtb-") },
    Form { kind: "Role", what: "the role's name, without path", fits: is_name },
    Form { kind: "Cluster", what: "the cluster's name", fits: is_name },
    Form { kind: "Addon", what: "CLUSTER|ADDON", fits: |id| within(id).is_some_and(is_name) },
    Form {
        kind: "AccessEntry",
        what: "CLUSTER|ARN of the principal",
        fits: |id| within(id).is_some_and(|arn| arn.starts_with("arn:")),
    },
    Form {
        kind: "PodIdentityAssociation",
        what: "CLUSTER|a-…, the association's id as `aws eks list-pod-identity-associations` shows it",
        fits: |id| within(id).is_some_and(|id| is_of_ec2(id, "a-")),
    },
    Form {
        kind: "Secret",
        what: "the server by which Argo CD knows the cluster",
        fits: |id| id.starts_with("https://") || id.starts_with("arn:"),
    },
];

/// The id as records have it, or what it should look like.
pub(super) fn checked<'a>(kind: &str, id: &'a str) -> Result<&'a str, String> {
    let trimmed = if kind == "Secret" { id.trim_end_matches('/') } else { id };
    match FORMS.iter().find(|form| form.kind == kind) {
        Some(form) if !(form.fits)(trimmed) => Err(format!("`{id}` is not the id of a {kind}: that is {}", form.what)),
        _ => Ok(trimmed),
    }
}

fn is_of_ec2(id: &str, prefix: &str) -> bool {
    id.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

fn is_name(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+=,.@-_".contains(&byte))
}

/// What follows the cluster's name.
fn within(id: &str) -> Option<&str> {
    id.split_once('|').filter(|(cluster, _)| is_name(cluster)).map(|(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::catalog::kinds;

    #[test]
    fn every_kind_says_what_its_ids_look_like() {
        for kind in kinds() {
            let name = &kind.description().kind;
            let message = checked(name, "?").unwrap_err();
            assert!(message.contains("`?` is not the id of") && message.contains(name.as_str()), "{message}");
        }
    }

    #[test]
    fn what_is_typed_is_taken_or_explained() {
        for (kind, id) in [
            ("VPC", "vpc-0123456789abcdef0"),
            ("Role", "one.two-three_four@five"),
            ("Cluster", "one"),
            ("Addon", "one|vpc-cni"),
            ("AccessEntry", "one|arn:aws:iam::111111111111:role/path/Admin"),
            ("PodIdentityAssociation", "one|a-abcdefghijk"),
        ] {
            assert_eq!(checked(kind, id), Ok(id));
        }
        assert_eq!(checked("Secret", "https://one.example.com/"), Ok("https://one.example.com"));
        for (kind, id) in [
            ("VPC", "subnet-1"),
            ("VPC", "vpc-"),
            ("Role", "arn:aws:iam::111111111111:role/one"),
            ("Cluster", "arn:aws:eks:us-west-2:111111111111:cluster/one"),
            ("Addon", "vpc-cni"),
            ("AccessEntry", "one|Admin"),
            ("PodIdentityAssociation", "one|external-secrets"),
            ("Secret", "one"),
        ] {
            assert!(checked(kind, id).is_err(), "{kind} {id}");
        }
    }
}
