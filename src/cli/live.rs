//! What is said when documents need a definition that is gone while objects of it live.

use super::context::Context;
use super::error::CliError;
use super::launch;
use crate::graph::diagnostic::Diagnostic;
use crate::state::file::StateFile;
use crate::state::session;

/// The same error, with the way out where an unknown kind has instances that live.
pub(super) async fn explained(context: &Context, error: CliError) -> CliError {
    let CliError::Documents(problems) = error else { return error };
    if !problems.iter().any(is_unknown_kind) {
        return CliError::Documents(problems);
    }
    // A store that cannot be read says so wherever it is used.
    let states = session::read_each(launch::store(context).as_ref()).await.unwrap_or_default();
    let states: Vec<StateFile> = states.into_iter().filter_map(|(_, state)| state.ok()).collect();
    CliError::Documents(problems.into_iter().map(|problem| with_way_out(problem, &states)).collect())
}

fn is_unknown_kind(problem: &Diagnostic) -> bool {
    problem.category == "schema-not-found"
}

fn with_way_out(problem: Diagnostic, states: &[StateFile]) -> Diagnostic {
    let is_of_kind = |state: &&StateFile| problem.message.contains(&format!("`{}`", state.instance.kind));
    let lives = |state: &&StateFile| !state.resources.is_empty();
    let live: Vec<String> = states
        .iter()
        .filter(is_of_kind)
        .filter(lives)
        .map(|state| format!("{}/{}", state.instance.kind, state.instance.name))
        .collect();
    let Some(first) = live.first().filter(|_| is_unknown_kind(&problem)) else { return problem };
    let verb = if live.len() == 1 { "lives" } else { "live" };
    let hint = problem.suggestion.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    let way_out = format!(
        "{} {verb}: bring the definition back, or remove what it made with `fleetctl destroy {first}`, which needs no definition{hint}",
        live.join(", ")
    );
    problem.suggest(way_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::planner::tests::{Scene, record};
    use crate::state::file::{InstanceKey, Phase};

    fn state(kind: &str, name: &str, is_live: bool) -> StateFile {
        let api_version = "kro.run/v1alpha1".to_owned();
        let mut state =
            StateFile::new(InstanceKey { api_version, kind: kind.into(), namespace: "argocd".into(), name: name.into() });
        if is_live {
            state.resources.push(record(&Scene::new("").seen("vpc").subject.clone(), "vpc-1", Phase::Ready));
        }
        state
    }

    #[test]
    fn a_definition_that_is_gone_while_instances_live_is_told_with_the_way_out() {
        let problem = || Diagnostic::error("schema-not-found", "there is no kind `EksCluster` in `kro.run/v1alpha1`");
        let said = |states: &[StateFile]| with_way_out(problem(), states).suggestion;
        assert_eq!(
            said(&[state("EksCluster", "one", true), state("EksCluster", "gone", false), state("Vpc", "two", true)]).unwrap(),
            "EksCluster/one lives: bring the definition back, or remove what it made with `fleetctl destroy EksCluster/one`, which \
             needs no definition"
        );
        assert_eq!(said(&[state("Vpc", "two", true)]), None);
        let near = with_way_out(problem().suggest("did you mean `EksCluster2`?"), &[state("EksCluster", "one", true)]);
        assert!(near.suggestion.unwrap().ends_with("needs no definition; did you mean `EksCluster2`?"));
    }
}
