//! From bytes to the current format and back: the version is looked at before anything else.
//!
//! To change the format: raise [`VERSION`], and add to [`STEPS`] a function that turns a document of the version before
//! into one of the new version, with a test that reads a file as the old program wrote it. Files are migrated in memory;
//! the next fold writes them. Journal segments have the version of the program that wrote them: [`segment`] migrates
//! their entries the same way.

use super::bounds;
use super::checksum;
use super::error::StateError;
use super::file::{StateFile, VERSION};
use super::replay::Segment;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// One step of a migration; the version is raised by the chain. The text says what is wrong with the document.
type Step = fn(Value) -> Result<Value, String>;

/// Steps for state files; the first turns version 1 into version 2, and so on.
const STEPS: &[Step] = &[UNSEALED];

/// Steps for journal segments, likewise.
const SEGMENT_STEPS: &[Step] = &[UNSEALED];

/// Version 2 has a checksum, which is looked at before anything else and is no part of the content.
const UNSEALED: Step = Ok;

/// The first version that has a checksum. All later ones have it in the same way, so that a version in which a bit flipped is not
/// taken for a newer one.
const SEALED_SINCE: u64 = 2;

const _: () = assert!(STEPS.len() as u64 + 1 == VERSION && SEGMENT_STEPS.len() == STEPS.len());

/// Reads a state file. Errors: [`StateError::NewerVersion`], [`StateError::Damaged`].
pub(super) fn file(key: &str, bytes: &[u8]) -> Result<StateFile, StateError> {
    let state = parse(key, bytes, STEPS)?;
    bounds::check_file(&state).map_err(|reason| StateError::damaged(key, reason))?;
    Ok(state)
}

/// Reads a journal segment. Errors: [`StateError::NewerVersion`], [`StateError::Damaged`].
pub(super) fn segment(key: &str, bytes: &[u8]) -> Result<Segment, StateError> {
    let segment: Segment = parse(key, bytes, SEGMENT_STEPS)?;
    segment.entries.iter().try_for_each(bounds::check_entry).map_err(|reason| StateError::damaged(key, reason))?;
    Ok(segment)
}

/// Bytes of a state file that can certainly be read again: what could not would be found out when it is too late.
pub(super) fn encode_file(key: &str, state: &StateFile) -> Result<Vec<u8>, StateError> {
    let document = serde_json::to_value(state).map_err(unwritable(key))?;
    let text = serde_json::to_string_pretty(&checksum::with_room(document)).map_err(unwritable(key))?;
    let bytes = (checksum::seal(text) + "\n").into_bytes();
    file(key, &bytes)?;
    Ok(bytes)
}

/// Bytes of a segment that can certainly be read again.
pub(super) fn encode_segment(key: &str, journal: &Segment) -> Result<Vec<u8>, StateError> {
    let document = serde_json::to_value(journal).map_err(unwritable(key))?;
    let bytes = (checksum::seal(checksum::with_room(document).to_string()) + "\n").into_bytes();
    segment(key, &bytes)?;
    Ok(bytes)
}

/// Reads a state file that somebody may have edited: its checksum does not matter. Errors as those of [`file`].
pub(super) fn edited_file(key: &str, bytes: &[u8]) -> Result<StateFile, StateError> {
    let mut document: Value = document(key, bytes)?;
    if let Some(fields) = document.as_object_mut() {
        fields.shift_remove(checksum::FIELD);
    }
    let state = migrated(key, document, STEPS)?;
    bounds::check_taken(&state).map_err(|reason| StateError::damaged(key, reason))?;
    Ok(state)
}

fn unwritable(key: &str) -> impl FnOnce(serde_json::Error) -> StateError {
    move |error| StateError::Store { action: "write", key: key.to_owned(), source: error.into() }
}

fn document(key: &str, bytes: &[u8]) -> Result<Value, StateError> {
    serde_json::from_slice(bytes).map_err(|error| StateError::damaged(key, format!("it is not JSON: {error}")))
}

fn parse<T: DeserializeOwned>(key: &str, bytes: &[u8], steps: &[Step]) -> Result<T, StateError> {
    let mut document = document(key, bytes)?;
    if document.get("version").and_then(Value::as_u64).is_some_and(|version| version >= SEALED_SINCE) {
        if !checksum::is_whole(without_line_break(bytes)) {
            return Err(StateError::damaged(key, UNLIKE));
        }
        if let Some(fields) = document.as_object_mut() {
            fields.shift_remove(checksum::FIELD);
        }
    }
    migrated(key, document, steps)
}

/// What is said of a document whose checksum is another.
const UNLIKE: &str = "it does not fit its checksum: a part of it has changed, on the disk or by hand (what was edited on \
purpose is taken by `fleetctl state push FILE`)";

/// Files end in a line break, which an editor may add or take away.
fn without_line_break(bytes: &[u8]) -> &[u8] {
    bytes.strip_suffix(b"\n").unwrap_or(bytes)
}

fn migrated<T: DeserializeOwned>(key: &str, document: Value, steps: &[Step]) -> Result<T, StateError> {
    let damaged = |reason: String| StateError::damaged(key, reason);
    let found = document.get("version").and_then(Value::as_u64).filter(|version| *version > 0);
    let found = found.ok_or_else(|| damaged("it has no version".to_owned()))?;
    let known = steps.len() as u64 + 1;
    if found > known {
        return Err(StateError::NewerVersion { key: key.to_owned(), found, known });
    }
    let current = (1..known).zip(steps).skip_while(|(version, _)| *version < found).try_fold(document, step);
    serde_json::from_value(current.map_err(damaged)?).map_err(|error| damaged(error.to_string()))
}

fn step(document: Value, (version, step): (u64, &Step)) -> Result<Value, String> {
    let mut document = step(document)?;
    document["version"] = (version + 1).into();
    Ok(document)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{StateError, Step, migrated};
    use serde_json::{Value, json};

    const TWO_STEPS: &[Step] = &[
        |mut document| {
            document["steps"].as_array_mut().ok_or("it has no steps")?.push(json!("1 to 2"));
            Ok(document)
        },
        |mut document| {
            document["steps"].as_array_mut().ok_or("it has no steps")?.push(json!("2 to 3"));
            Ok(document)
        },
    ];

    fn read(document: &Value) -> Result<Value, String> {
        let parsed = migrated("a.json", document.clone(), TWO_STEPS);
        parsed.map_err(|error: StateError| error.to_string())
    }

    #[test]
    fn each_version_takes_the_steps_that_it_needs() {
        let after = |version: u64| read(&json!({"version": version, "steps": []})).unwrap();
        assert_eq!(after(1), json!({"version": 3, "steps": ["1 to 2", "2 to 3"]}));
        assert_eq!(after(2), json!({"version": 3, "steps": ["2 to 3"]}));
        assert_eq!(after(3), json!({"version": 3, "steps": []}));
    }

    #[test]
    fn what_cannot_be_migrated_is_said() {
        assert_eq!(read(&json!({"version": 2})).unwrap_err(), "a.json is damaged: it has no steps");
        let newer = "a.json has version 4, this fleetctl reads up to 3: use a newer fleetctl";
        assert_eq!(read(&json!({"version": 4, "steps": []})).unwrap_err(), newer);
        assert_eq!(read(&json!({"version": 0})).unwrap_err(), "a.json is damaged: it has no version");
    }
}
