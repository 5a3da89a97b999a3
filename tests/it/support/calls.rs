//! What a list of calls says.

use super::proxy::Call;
use std::collections::BTreeMap;

/// How often each operation was called.
pub(crate) fn count(calls: &[Call]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for call in calls {
        *counts.entry(format!("{}:{}", call.service, call.operation)).or_default() += 1;
    }
    counts
}
