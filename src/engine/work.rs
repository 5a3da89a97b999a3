//! Work: one expanded instance, with the account, region and role of every resource.

use crate::graph::catalog::Catalog;
use crate::graph::evaluation::{Evaluation, Included, Observations, evaluate, foresee};
use crate::graph::expansion::{Graph, NodeIndex};
use crate::graph::identity::Identity;
use crate::graph::tree::Tree;
use crate::state::file::{DefinitionsUsed, InstanceKey, RoleUsed};
use indexmap::IndexMap;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// One top-level instance, ready to be planned.
#[derive(Debug, Clone)]
pub struct Work {
    /// The expanded instance.
    pub graph: Graph,
    /// By node: where a resource goes. `None` for virtual nodes, excluded ones, and resources that are left out.
    pub places: Vec<Option<Place>>,
    /// Resources of kinds that fleetctl carries out but that settings leave out, and why.
    pub left_out: BTreeMap<NodeIndex, String>,
    /// The definitions used.
    pub definitions: DefinitionsUsed,
    /// What evaluation says with nothing observed.
    pub blank: Evaluation,
    /// What has to stay as it is. Nothing, unless only drift is put back.
    pub held_back: HeldBack,
}

/// What a run leaves as it is although the documents want it otherwise.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeldBack {
    /// Only drift is put back: what has left the graph stays too.
    pub drift_only: bool,
    /// Resources that were never made, or are no longer wanted: nothing is done to them, and nobody waits for them.
    pub whole: BTreeSet<NodeIndex>,
    /// Fields by their path, name by name, with the value that was applied last; null: none.
    pub fields: BTreeMap<NodeIndex, BTreeMap<Vec<String>, Value>>,
}

impl HeldBack {
    fn hold(&self, evaluation: &mut Evaluation) {
        for index in &self.whole {
            if let Some(node) = evaluation.nodes.get_mut(index.0) {
                node.included = Included::No("only drift is put back".to_owned());
            }
        }
        for (index, fields) in &self.fields {
            let Some(node) = evaluation.nodes.get_mut(index.0) else { continue };
            for (path, value) in fields {
                let desired = std::mem::replace(&mut node.desired, Tree::Known(Value::Null));
                node.desired = with(desired, path, value);
            }
        }
    }
}

/// A tree with another value at a path; null takes away what is there.
fn with(tree: Tree, path: &[String], value: &Value) -> Tree {
    let Some((name, rest)) = path.split_first() else { return Tree::Known(value.clone()) };
    let mut entries: IndexMap<String, Tree> = match tree {
        Tree::Mapping(entries) => entries,
        Tree::Known(Value::Object(fields)) => fields.into_iter().map(|(name, value)| (name, Tree::Known(value))).collect(),
        Tree::Known(Value::Null) => IndexMap::new(),
        other => return other,
    };
    let below = entries.shift_remove(name);
    if !(rest.is_empty() && value.is_null()) {
        entries.insert(name.clone(), with(below.unwrap_or(Tree::Known(Value::Null)), rest, value));
    }
    Tree::mapping(entries)
}

/// The place to be held for a difference at a path, name by name: a name in a mapping by itself, but a list as a whole.
pub(super) fn place_to_hold(path: &str, applied: &Value, desired: &Value) -> Vec<String> {
    let (head, rest) = path.split_once('[').map_or((path, None), |(head, rest)| (head, Some(rest)));
    let mut names: Vec<String> = head.split('.').map(str::to_owned).collect();
    let is_mapping = |object| at(object, &names).is_object();
    let is_mapping = is_mapping(applied) || is_mapping(desired);
    names.extend(rest.and_then(|rest| rest.strip_suffix(']')).filter(|_| is_mapping).map(str::to_owned));
    names
}

/// The value at a path; null where there is none.
pub(super) fn at<'a>(object: &'a Value, path: &[String]) -> &'a Value {
    path.iter().try_fold(object, |value, name| value.get(name)).unwrap_or(&Value::Null)
}

/// The places at which two objects differ, name by name: mappings by their names, lists as a whole. Null and absent are the
/// same.
pub(super) fn differing(left: &Value, right: &Value) -> Vec<Vec<String>> {
    let fields = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let is_mapping = |value: &Value| value.is_object() || value.is_null();
    if !(is_mapping(left) && is_mapping(right)) {
        return if left == right { Vec::new() } else { vec![Vec::new()] };
    }
    let (left, right) = (fields(left), fields(right));
    let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    let below = |name: &String| {
        let value = |of: &serde_json::Map<String, Value>| of.get(name).cloned().unwrap_or_default();
        let places = differing(&value(&left), &value(&right)).into_iter();
        places.map(|place| std::iter::once(name.clone()).chain(place).collect()).collect::<Vec<Vec<String>>>()
    };
    names.into_iter().flat_map(below).collect()
}

/// Where a resource goes, and who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The key.
    pub identity: Identity,
    /// The role that reaches its account; `None` for the caller's own credentials.
    pub role: Option<RoleUsed>,
    /// Where that comes from, for people.
    pub because: String,
}

impl Work {
    /// The key of the instance's state.
    pub fn key(&self) -> InstanceKey {
        let instance = &self.graph.instance;
        InstanceKey {
            api_version: instance.api_version.clone(),
            kind: instance.kind.clone(),
            namespace: instance.namespace.clone(),
            name: instance.name.clone(),
        }
    }

    /// What every node wants, given what was observed; what is held back stays as it is.
    pub fn evaluate(&self, observations: &Observations, catalog: &dyn Catalog) -> Evaluation {
        let mut evaluation = evaluate(&self.graph, observations, catalog);
        self.held_back.hold(&mut evaluation);
        evaluation
    }

    /// What every node will want once what is missing has been made, as far as that is known now; for plans.
    pub fn foresee(&self, observations: &Observations, catalog: &dyn Catalog) -> Evaluation {
        let mut evaluation = foresee(&self.graph, observations, catalog);
        self.held_back.hold(&mut evaluation);
        evaluation
    }

    /// Where a resource goes.
    pub fn place(&self, index: NodeIndex) -> Option<&Place> {
        self.places.get(index.0).and_then(Option::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::tree::Unknown;
    use serde_json::json;

    fn held(tree: Tree, path: &str, value: &Value) -> Tree {
        with(tree, &path.split('.').map(str::to_owned).collect::<Vec<_>>(), value)
    }

    #[test]
    fn a_field_is_held_at_its_path_and_the_rest_stays() {
        let tree = Tree::Known(json!({"spec": {"a": 1, "b": {"c": 2, "d": 3}}}));
        let held_there = held(tree.clone(), "spec.b.c", &json!([4]));
        assert_eq!(held_there, Tree::Known(json!({"spec": {"a": 1, "b": {"d": 3, "c": [4]}}})));
        assert_eq!(held(tree.clone(), "spec.a", &Value::Null), Tree::Known(json!({"spec": {"b": {"c": 2, "d": 3}}})));
        assert_eq!(
            held(tree, "spec.e.f", &json!(5)),
            Tree::Known(json!({"spec": {"a": 1, "b": {"c": 2, "d": 3}, "e": {"f": 5}}}))
        );
    }

    #[test]
    fn what_is_held_is_known() {
        let unknown = Tree::Unknown(Unknown { expression: "x.status.id".into(), waits_for: "x".into() });
        let spec = Tree::mapping(IndexMap::from([("id".to_owned(), unknown), ("a".to_owned(), Tree::Known(json!(1)))]));
        let tree = Tree::mapping(IndexMap::from([("spec".to_owned(), spec)]));
        assert!(!tree.is_known());
        assert_eq!(held(tree, "spec.id", &json!("old")), Tree::Known(json!({"spec": {"a": 1, "id": "old"}})));
    }

    #[test]
    fn objects_differ_name_by_name_and_in_whole_lists() {
        let applied = json!({"spec": {"a": 1, "tags": [{"key": "a"}], "same": [1], "none": null, "gone": {"x": 1}}});
        let desired = json!({"spec": {"a": 2, "tags": [], "same": [1]}, "metadata": {"labels": {"a.b/c": "d"}}});
        let places: Vec<String> = differing(&applied, &desired).into_iter().map(|place| place.join(" ")).collect();
        assert_eq!(places, ["metadata labels a.b/c", "spec a", "spec gone x", "spec tags"]);
    }

    #[test]
    fn a_name_is_held_by_itself_and_a_list_as_a_whole() {
        let applied = json!({"spec": {"routes": [{}], "version": "1.33"}});
        let desired = json!({"metadata": {"labels": {"a.b/c": "d"}}});
        let paths = ["spec.routes[0.0.0.0/0]", "spec.routes[0].natGatewayID", "metadata.labels[a.b/c]", "spec.version"];
        let places = paths.map(|path| place_to_hold(path, &applied, &desired).join(" "));
        assert_eq!(places, ["spec routes", "spec routes", "metadata labels a.b/c", "spec version"]);
    }
}
