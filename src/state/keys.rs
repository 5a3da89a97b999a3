//! The keys of everything that belongs to one state.

use super::bounds::LARGEST_TAKEN;
use std::collections::BTreeSet;

/// The keys of one state: `argocd/EksCluster.workload-cluster1.json` and what lies beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Keys {
    /// The state file. Also the key of its lock.
    pub(super) state: String,
    /// What segments' keys begin with: `argocd/EksCluster.workload-cluster1.journal/`.
    journal: String,
}

impl Keys {
    /// The keys around a state file's key; `None` if it is the key of something else.
    pub(super) fn of(state: &str) -> Option<Self> {
        let (namespace, file) = state.split_once('/')?;
        let stem = file.strip_suffix(".json")?;
        let (kind, name) = stem.split_once('.')?;
        // Kinds begin with a capital letter; this tells states from other JSON files that people put here.
        let like_state = kind.starts_with(|first: char| first.is_ascii_uppercase()) && !name.is_empty() && !name.contains('/');
        like_state.then(|| Self { state: state.to_owned(), journal: format!("{namespace}/{stem}.journal/") })
    }

    /// The keys of every state of which something is there, be it a segment or a previous version alone, in order.
    pub(super) fn all(listed: &[String]) -> Vec<Self> {
        let states: BTreeSet<String> = listed.iter().filter_map(|key| Self::state_of(key)).collect();
        states.iter().filter_map(|state| Self::of(state)).collect()
    }

    /// The key of the state that a file, a previous version or a segment belongs to.
    fn state_of(key: &str) -> Option<String> {
        if Self::of(key).is_some() {
            return Some(key.to_owned());
        }
        let state = match key.rsplit_once(".journal/") {
            Some((stem, _)) => format!("{stem}.json"),
            None => key.rsplit_once(".backup-")?.0.to_owned(),
        };
        let keys = Self::of(&state)?;
        (keys.backup_serial(key).is_some() || keys.segment_number(key).is_some()).then_some(state)
    }

    /// The instance as it is typed: `EksCluster/workload-cluster1 -n argocd`.
    pub(super) fn named(&self) -> Option<String> {
        let (namespace, file) = self.state.split_once('/')?;
        let (kind, name) = file.strip_suffix(".json")?.split_once('.')?;
        Some(format!("{kind}/{name} -n {namespace}"))
    }

    /// The key of a segment: `argocd/EksCluster.workload-cluster1.journal/000000000042.json`.
    pub(super) fn segment(&self, number: u64) -> String {
        format!("{}{number:012}.json", self.journal)
    }

    /// What the keys of segments begin with.
    pub(super) fn segments(&self) -> &str {
        &self.journal
    }

    /// The number of a segment, from its key.
    pub(super) fn segment_number(&self, key: &str) -> Option<u64> {
        let number = key.strip_prefix(&self.journal)?.strip_suffix(".json")?.parse().ok()?;
        (self.segment(number) == key && number <= LARGEST_TAKEN).then_some(number)
    }

    /// The key of a previous version.
    pub(super) fn backup(&self, serial: u64) -> String {
        format!("{}{serial}", self.backups())
    }

    /// What the keys of previous versions begin with; the serial follows.
    pub(super) fn backups(&self) -> String {
        format!("{}.backup-", self.state)
    }

    /// What the keys of everything that belongs to the state begin with, and perhaps those of other states too.
    pub(super) fn stem(&self) -> &str {
        self.state.strip_suffix("json").unwrap_or(&self.state)
    }

    /// What the keys of damaged objects that are kept aside begin with; a number follows.
    pub(super) fn aside(&self) -> String {
        format!("{}.damaged-", self.state)
    }

    /// The serial of a previous version, from its key.
    pub(super) fn backup_serial(&self, key: &str) -> Option<u64> {
        key.strip_prefix(&self.backups())?.parse().ok().filter(|serial| *serial <= LARGEST_TAKEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rebuild_kept_aside_is_no_state() {
        let aside = [
            "argocd/EksCluster.a.json.damaged-0123456789ab-EksCluster.a.json.kept",
            "argocd/EksCluster.a.json.damaged-0123456789ab-EksCluster.a.json.backup-3.kept",
            "argocd/EksCluster.a.json.damaged-0123456789ab-000000000007.json.kept",
        ];
        assert_eq!(Keys::all(&aside.map(str::to_owned)), []);
    }

    #[test]
    fn what_is_left_of_a_state_tells_that_there_was_one() {
        let listed = [
            "argocd/EksCluster.a.json.backup-3",
            "argocd/EksCluster.b.journal/000000000001.json",
            "argocd/EksCluster.c.json",
            "argocd/EksCluster.c.json.backup-1",
            "argocd/EksCluster.d.json.damaged-1",
            "argocd/EksCluster.e.json.backup-x",
            "argocd/notes.json",
        ];
        let all: Vec<String> = Keys::all(&listed.map(str::to_owned)).into_iter().map(|keys| keys.state).collect();
        assert_eq!(all, ["argocd/EksCluster.a.json", "argocd/EksCluster.b.json", "argocd/EksCluster.c.json"]);
    }
}
