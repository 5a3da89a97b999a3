//! What the macros of comprehensions call: maps in the order of their keys, so that nothing depends on chance.

use super::super::convert::sorted_entries;
use super::super::environment::Library;
use super::super::failure::unexpected;
use super::super::macros::{MAP_OF_ENTRIES, MAP_OF_PAIRS, PAIRS, RANGE};
use super::{Arguments, Outcome, argument, failed, length, list, list_value};
use cel::ExecutionError;
use cel::common::types::{CelInt, CelList, CelMap, CelMapKey};
use cel::common::value::{CowVal, Val};
use std::collections::HashMap;

pub(super) fn register(library: &mut Library) -> Result<(), String> {
    library.internal(RANGE, range)?;
    library.internal(PAIRS, pairs)?;
    library.internal(MAP_OF_PAIRS, map_of_pairs)?;
    library.internal(MAP_OF_ENTRIES, map_of_entries)
}

fn range<'b, 'v>(mut arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let value = argument(&arguments, 0)?;
    if let Some(map) = value.downcast_ref::<CelMap<'_>>() {
        return Ok(list_value(sorted_entries(map).into_iter().map(|(key, _)| key.inner().clone_as_boxed()).collect()));
    }
    expect_list(value)?;
    Ok(arguments.swap_remove(0))
}

fn pairs<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let value = argument(&arguments, 0)?;
    let pair = |key: Box<dyn Val + 'v>, value: &(dyn Val + 'v)| -> Box<dyn Val + 'v> {
        Box::new(CelList::from(vec![key, value.clone_as_boxed()]))
    };
    if let Some(map) = value.downcast_ref::<CelMap<'_>>() {
        return Ok(list_value(
            sorted_entries(map).into_iter().map(|(key, value)| pair(key.inner().clone_as_boxed(), value)).collect(),
        ));
    }
    expect_list(value)?;
    let items = list(&arguments, 0)?.iter().enumerate();
    Ok(list_value(items.map(|(index, item)| pair(Box::new(CelInt::from(length(index))), item.as_ref())).collect()))
}

fn expect_list(value: &CowVal<'_, '_>) -> Result<(), ExecutionError> {
    if value.downcast_ref::<CelList<'_>>().is_some() { Ok(()) } else { Err(unexpected(value.get_type(), "list or map")) }
}

fn map_of_pairs<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let mut map = HashMap::new();
    for item in list(&arguments, 0)? {
        let pair = item.downcast_ref::<CelList<'v>>().map(CelList::inner);
        let Some([key, value]) = pair else { return Err(failed("transformMap", "a pair is needed")) };
        map.insert(CelMapKey::try_from(CowVal::Owned(key.clone_as_boxed()))?, value.clone_as_boxed());
    }
    Ok(CowVal::owned(CelMap::from(map)))
}

fn map_of_entries<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let mut map: HashMap<CelMapKey<'v>, Box<dyn Val + 'v>> = HashMap::new();
    for item in list(&arguments, 0)? {
        let Some(entries) = item.downcast_ref::<CelMap<'v>>() else {
            return Err(failed("transformMapEntry", format!("the result has to be a map, it is {}", item.get_type().name())));
        };
        for (key, value) in sorted_entries(entries) {
            if map.insert(key.clone(), value.clone_as_boxed()).is_some() {
                return Err(failed("transformMapEntry", "a key comes twice"));
            }
        }
    }
    Ok(CowVal::owned(CelMap::from(map)))
}
