//! kro's maps: `merge` and `deepMerge`.

use super::super::environment::Library;
use super::{Arguments, Outcome, failed, map};
use cel::ExecutionError;
use cel::common::types::CelMap;
use cel::common::value::{CowVal, Val};

pub(super) fn register(library: &mut Library) -> Result<(), String> {
    library.method("map(K,V).merge(map(K,V)) -> map(K,V)", merge)?;
    library.method("map(K,V).deepMerge(T) -> dyn", deep_merge)
}

/// The entries of both; where both have a key, the right one's.
fn merge<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let mut merged = map(&arguments, 0)?.clone().into_inner();
    merged.extend(map(&arguments, 1)?.clone().into_inner());
    Ok(CowVal::owned(CelMap::from(merged)))
}

/// The same, maps below included. Lists are replaced as a whole.
fn deep_merge<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let (left, right) = (map(&arguments, 0)?, map(&arguments, 1)?);
    merge_below(left, right, 0).map(CowVal::owned)
}

fn merge_below<'v>(left: &CelMap<'v>, right: &CelMap<'v>, depth: usize) -> Result<CelMap<'v>, ExecutionError> {
    const MAX_DEPTH: usize = 256;
    if depth > MAX_DEPTH {
        return Err(failed("deepMerge", "the maps are nested too deeply"));
    }
    let mut merged = left.clone().into_inner();
    for (key, value) in right.inner() {
        let below = (merged.get(key).and_then(|old| old.downcast_ref::<CelMap<'v>>()), value.downcast_ref::<CelMap<'v>>());
        let value: Box<dyn Val + 'v> = match below {
            (Some(old), Some(new)) => Box::new(merge_below(old, new, depth + 1)?),
            _ => value.clone_as_boxed(),
        };
        merged.insert(key.clone(), value);
    }
    Ok(CelMap::from(merged))
}
