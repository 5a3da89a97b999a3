//! Observed objects in ACK's shape, as expressions read them.

use crate::graph::catalog::Production;
use crate::kinds::kind::Observed;
use serde_json::{Map, Value, json};

/// The observed object: metadata as rendered, spec as read back, status as ACK fills it, with the conditions that ACK's
/// controllers would set, in the order in which ACK lists them.
pub(super) fn observed_object(rendered: &Value, observed: &Observed, reached: Production) -> Value {
    let mut object = Map::new();
    for key in ["apiVersion", "kind", "metadata"] {
        if let Some(value) = rendered.get(key) {
            object.insert(key.to_owned(), value.clone());
        }
    }
    object.insert("spec".to_owned(), observed.spec.clone());
    object.insert("status".to_owned(), status(&observed.status, reached));
    Value::Object(object)
}

fn status(observed: &Value, reached: Production) -> Value {
    let mut status = observed.as_object().cloned().unwrap_or_default();
    let synced = if reached == Production::Ready { "True" } else { "False" };
    let conditions = json!([
        {"type": "ACK.ResourceSynced", "status": synced},
        {"type": "Ready", "status": synced},
    ]);
    status.insert("conditions".to_owned(), conditions);
    Value::Object(status)
}
