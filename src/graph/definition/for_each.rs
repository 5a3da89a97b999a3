//! `forEach`: every axis has to be part of the objects' identity (kro.md 1.4, check 11).

use super::expressions::Scene;
use super::resource::Entry;
use crate::graph::catalog::Scope;
use crate::graph::diagnostic::Diagnostic;
use crate::graph::template::Template;

/// Checks the identity of a collection's objects.
pub(super) fn check(scene: &Scene, index: usize, entry: &Entry<'_>, errors: &mut Vec<Diagnostic>) {
    let Some(template) = &entry.template else { return };
    let namespaced = scene.kind(index).is_none_or(|kind| kind.scope == Scope::Namespaced);
    for iterator in entry.iterators.iter().filter(|_| !entry.axes().is_empty()) {
        if !is_in_identity(template, iterator, namespaced) {
            let message =
                format!("`{iterator}` does not occur in `metadata.name`: the objects of `{}` would have one name", entry.id);
            errors.push(Diagnostic::error("foreach-identity", message).at(&entry.location));
        }
    }
}

fn is_in_identity(template: &Template, iterator: &str, namespaced: bool) -> bool {
    template.expressions().into_iter().any(|(field, expression)| {
        (field == "metadata.name" || (namespaced && field == "metadata.namespace"))
            && expression.reads.iter().any(|read| read.root == iterator)
    })
}
