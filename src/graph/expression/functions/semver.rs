//! Kubernetes' semantic versions (semver.org 2.0.0, strictly).

use super::super::environment::Library;
use super::{Arguments, Outcome, bool_value, failed, int_value, text, typed};
use cel::ExecutionError;
use cel::common::value::CowVal;
use std::cmp::Ordering;

opaque_type!(
    /// A version.
    Semver(Version),
    "kubernetes.Semver"
);

/// The parts of a version that order it; build metadata do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    numbers: [u64; 3],
    prerelease: Vec<Identifier>,
}

/// Numbers come before words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(String),
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
        if build.is_some_and(|build| !build.split('.').all(is_identifier)) {
            return None;
        }
        let (numbers, prerelease) = text.split_once('-').map_or((text, None), |(numbers, rest)| (numbers, Some(rest)));
        let numbers: Vec<u64> = numbers.split('.').map(number).collect::<Option<_>>()?;
        let prerelease = prerelease.map_or(Some(Vec::new()), |text| text.split('.').map(Identifier::parse).collect())?;
        Some(Self { numbers: numbers.try_into().ok()?, prerelease })
    }
}

impl Identifier {
    fn parse(text: &str) -> Option<Self> {
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return number(text).map(Self::Number);
        }
        is_identifier(text).then(|| Self::Word(text.to_owned()))
    }
}

impl Ord for Version {
    /// A version without prerelease comes after all with one.
    fn cmp(&self, other: &Self) -> Ordering {
        let prerelease = match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
            (false, false) => self.prerelease.cmp(&other.prerelease),
            (is_release, other_is_release) => is_release.cmp(&other_is_release),
        };
        self.numbers.cmp(&other.numbers).then(prerelease)
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// A number without leading zeros.
fn number(text: &str) -> Option<u64> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

pub(super) fn register(library: &mut Library) -> Result<(), String> {
    library.function("semver(string) -> kubernetes.Semver", semver)?;
    library.function("isSemver(string) -> bool", is_semver)?;
    library.method("kubernetes.Semver.isLessThan(kubernetes.Semver) -> bool", is_less_than)?;
    library.method("kubernetes.Semver.isGreaterThan(kubernetes.Semver) -> bool", is_greater_than)?;
    library.method("kubernetes.Semver.compareTo(kubernetes.Semver) -> int", compare_to)?;
    library.method("kubernetes.Semver.major() -> int", |arguments| part(&arguments, 0))?;
    library.method("kubernetes.Semver.minor() -> int", |arguments| part(&arguments, 1))?;
    library.method("kubernetes.Semver.patch() -> int", |arguments| part(&arguments, 2))
}

fn version<'a>(arguments: &'a [CowVal<'_, '_>], index: usize) -> Result<&'a Version, ExecutionError> {
    typed::<Semver>(arguments, index, "kubernetes.Semver").map(|version| &version.0)
}

fn semver<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let version = Version::parse(text(&arguments, 0)?);
    version.map(|version| CowVal::owned(Semver(version))).ok_or_else(|| failed("semver", "the text is no semantic version"))
}

fn is_semver<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(bool_value(Version::parse(text(&arguments, 0)?).is_some()))
}

fn compare(arguments: &[CowVal<'_, '_>]) -> Result<Ordering, ExecutionError> {
    Ok(version(arguments, 0)?.cmp(version(arguments, 1)?))
}

fn is_less_than<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(bool_value(compare(&arguments)?.is_lt()))
}

fn is_greater_than<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(bool_value(compare(&arguments)?.is_gt()))
}

fn compare_to<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(int_value(compare(&arguments)? as i64))
}

fn part<'b, 'v>(arguments: &[CowVal<'b, 'v>], index: usize) -> Outcome<'b, 'v> {
    let number = version(arguments, 0)?.numbers.get(index).copied().unwrap_or(0);
    i64::try_from(number).map(int_value).map_err(|_| failed("semver", "the number does not fit into an int"))
}
