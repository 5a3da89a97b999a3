//! Objects of the same instance that another state has made.

use super::{Facts, refused};
use crate::engine::facts::question::Answer;
use crate::engine::facts::wants::Fresh;
use crate::engine::finding::Finding;

/// So many ids are named.
const NAMED: usize = 3;

/// Where no state was ever used, nothing may be there yet: it would be made a second time, and the first would be nobody's.
pub(super) fn check(fresh: &Fresh, facts: &mut Facts<'_>, found: &mut Vec<Finding>) {
    let what = format!("whether objects of {} are there already", fresh.instance);
    let Some(Answer::Ids(ids)) = facts.answer(&fresh.question(), &fresh.object, &what, found) else { return };
    if ids.is_empty() {
        return;
    }
    let mut named: Vec<&str> = ids.iter().take(NAMED).map(String::as_str).collect();
    named.extend((ids.len() > NAMED).then_some("…"));
    let (count, named) = (ids.len(), named.join(", "));
    let (objects, carry, are) = if count == 1 { ("object", "carries", "is") } else { ("objects", "carry", "are") };
    let text = format!(
        "{count} {objects} of EC2 {carry} the tags of {} and {are} not recorded here ({named}): another state has made them, which is \
         elsewhere or lost, or a part of this one is lost; here they would be made a second time",
        fresh.instance
    );
    found.push(refused(&fresh.object, text).way_out(
        "if that state is lost, `fleetctl state rebuild` makes it anew from what is there; else use the state folder that \
                 made them (--state), or remove them, or give yours another name",
    ));
}
