//! Tags of an object, and which tags of others are left alone.

use super::compare::at;
use super::kind::Subject;
use crate::aws::tags::Tags;
use serde_json::Value;

pub use crate::aws::tags::is_ignored as is_foreign;

/// All tags that an object is to carry: the spec's, over the settings' default tags, and the marks.
pub fn wanted(subject: &Subject, desired: &Value) -> Tags {
    crate::aws::tags::complete(at(desired, "spec.tags"), subject)
}
