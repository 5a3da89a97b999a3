//! What a list of calls says.

use super::proxy::Call;
use std::collections::BTreeMap;

/// What was done on AWS and on Argo CD, in one order. Fails where one of these calls was still under way when the next
/// service was called: then there is no order to speak of.
pub(crate) fn services_in_order(aws: &[Call], argocd: &[Call]) -> Vec<&'static str> {
    let mut all: Vec<&Call> = aws.iter().chain(argocd).collect();
    all.sort_by_key(|call| call.began);
    let mut order: Vec<&'static str> = Vec::new();
    let mut busy_until = None;
    for call in all {
        let service = if call.service == "argocd" { "Argo CD" } else { "AWS" };
        if order.last().is_some_and(|last| *last != service) {
            assert!(busy_until < Some(call.began), "{call:?} began before the calls of the other service had ended");
        }
        if order.last() != Some(&service) {
            order.push(service);
        }
        busy_until = busy_until.max(Some(call.ended));
    }
    order
}

/// How often each operation was called.
pub(crate) fn count(calls: &[Call]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for call in calls {
        *counts.entry(format!("{}:{}", call.service, call.operation)).or_default() += 1;
    }
    counts
}
