//! From bytes to the current format and back: the version is looked at before anything else.
//!
//! To change the format: raise [`VERSION`], and add to [`STEPS`] a function that turns a document of the version before
//! into one of the new version, with a test that reads a file as the old program wrote it. Files are migrated in memory;
//! the next fold writes them. Journal segments have the version of the program that wrote them: [`segment`] migrates
//! their entries the same way.

use super::error::StateError;
use super::file::{StateFile, VERSION};
use super::replay::Segment;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// One step of a migration; the version is raised by the chain. The text says what is wrong with the document.
type Step = fn(Value) -> Result<Value, String>;

/// Steps for state files; the first turns version 1 into version 2, and so on.
const STEPS: &[Step] = &[];

/// Steps for journal segments, likewise.
const SEGMENT_STEPS: &[Step] = &[];

const _: () = assert!(STEPS.len() as u64 + 1 == VERSION && SEGMENT_STEPS.len() == STEPS.len());

const FILE_WAY_OUT: &str = "Put back a copy (the versions before it lie beside it as .backup-N, the highest N is the newest); \
what was made since then is found again by its tags and names";

const SEGMENT_WAY_OUT: &str = "Put back a copy of it, or move it and all later segments out of the folder: the calls in them \
are then found again by the tags and names of what they made";

/// Reads a state file. Errors: [`StateError::NewerVersion`], [`StateError::Damaged`].
pub(super) fn file(key: &str, bytes: &[u8]) -> Result<StateFile, StateError> {
    parse(key, bytes, STEPS, FILE_WAY_OUT)
}

/// Reads a journal segment. Errors: [`StateError::NewerVersion`], [`StateError::Damaged`].
pub(super) fn segment(key: &str, bytes: &[u8]) -> Result<Segment, StateError> {
    parse(key, bytes, SEGMENT_STEPS, SEGMENT_WAY_OUT)
}

/// Bytes of a state file that can certainly be read again: what could not would be found out when it is too late.
pub(super) fn encode_file(key: &str, state: &StateFile) -> Result<Vec<u8>, StateError> {
    let mut bytes = serde_json::to_vec_pretty(state).map_err(unwritable(key))?;
    bytes.push(b'\n');
    file(key, &bytes)?;
    Ok(bytes)
}

/// Bytes of a segment that can certainly be read again.
pub(super) fn encode_segment(key: &str, journal: &Segment) -> Result<Vec<u8>, StateError> {
    let mut bytes = serde_json::to_vec(journal).map_err(unwritable(key))?;
    bytes.push(b'\n');
    segment(key, &bytes)?;
    Ok(bytes)
}

fn unwritable(key: &str) -> impl FnOnce(serde_json::Error) -> StateError {
    move |error| StateError::Store { action: "write", key: key.to_owned(), source: error.into() }
}

fn parse<T: DeserializeOwned>(key: &str, bytes: &[u8], steps: &[Step], way_out: &str) -> Result<T, StateError> {
    let damaged = |reason: String| StateError::damaged(key, reason, way_out);
    let document: Value = serde_json::from_slice(bytes).map_err(|error| damaged(format!("it is not JSON: {error}")))?;
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

    use super::{StateError, Step, parse};
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
        let parsed = parse("a.json", document.to_string().as_bytes(), TWO_STEPS, "Put it back");
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
        assert_eq!(read(&json!({"version": 2})).unwrap_err(), "a.json is damaged: it has no steps. Put it back");
        let newer = "a.json has version 4, this fleetctl reads up to 3: use a newer fleetctl";
        assert_eq!(read(&json!({"version": 4, "steps": []})).unwrap_err(), newer);
        assert_eq!(read(&json!({"version": 0})).unwrap_err(), "a.json is damaged: it has no version. Put it back");
    }
}
