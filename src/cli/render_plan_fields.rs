//! What makes a plan easier to read: tags as `spec.tags[Name]`, and what is refused where it is not overlooked.

use crate::engine::plan::{Action, Change, FieldDifference};

/// Changes in their order, those that are refused at the end: nothing is done because of them.
pub(super) fn refused_last<'a>(changes: impl Iterator<Item = &'a Change>) -> Vec<&'a Change> {
    let (refused, mut others): (Vec<_>, Vec<_>) = changes.partition(|change| change.action == Action::Refused);
    others.extend(refused);
    others
}

/// Differences in which a key and a value that follow each other are one: `spec.tags[0].key: "Name"` and
/// `spec.tags[0].value: "demo"` become `spec.tags[Name]: "demo"`.
pub(super) fn tags_by_key(fields: &[FieldDifference]) -> Vec<FieldDifference> {
    let mut shown: Vec<FieldDifference> = Vec::with_capacity(fields.len());
    for field in fields {
        match shown.last_mut() {
            Some(key) if is_value_of(key, field) => *key = by_key(key, field),
            _ => shown.push(field.clone()),
        }
    }
    shown
}

fn is_value_of(key: &FieldDifference, value: &FieldDifference) -> bool {
    let is_new = key.before.is_null() && value.before.is_null() && key.after.is_string();
    let items = key.path.strip_suffix("].key").zip(value.path.strip_suffix("].value"));
    is_new && items.is_some_and(|(key, value)| key == value)
}

fn by_key(key: &FieldDifference, value: &FieldDifference) -> FieldDifference {
    let list = key.path.rsplit_once('[').map_or(key.path.as_str(), |(list, _)| list);
    let name = key.after.as_str().unwrap_or_default();
    FieldDifference { path: format!("{list}[{name}]"), ..value.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::testing::{change, difference};
    use serde_json::json;

    #[test]
    fn a_tag_is_one_line() {
        let fields = [
            difference("spec.cidrBlock", json!(null), json!("10.0.0.0/24")),
            difference("spec.tags[0].key", json!(null), json!("Name")),
            difference("spec.tags[0].value", json!(null), json!("demo")),
            difference("spec.tags[1].key", json!(null), json!("team")),
            difference("spec.tags[2].value", json!(null), json!("of another one")),
        ];
        let paths: Vec<_> = tags_by_key(&fields).into_iter().map(|field| field.path).collect();
        assert_eq!(paths, ["spec.cidrBlock", "spec.tags[Name]", "spec.tags[1].key", "spec.tags[2].value"]);
    }

    #[test]
    fn what_is_refused_stands_last() {
        let actions = [Action::Create, Action::Refused, Action::Update];
        let changes: Vec<_> = actions.into_iter().map(|action| change(action, "vpc/vpc", "VPC")).collect();
        let shown: Vec<_> = refused_last(changes.iter()).into_iter().map(|change| change.action).collect();
        assert_eq!(shown, [Action::Create, Action::Update, Action::Refused]);
    }
}
