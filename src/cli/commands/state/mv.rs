//! `fleetctl state mv`.

use super::{Changed, print, select, store};
use crate::cli::arguments::Mv;
use crate::cli::confirm::Questions;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::style::plural;
use crate::graph::identity::{Address, Identity};
use crate::state::elsewhere::are_one;
use crate::state::file::{InstanceKey, StateFile};
use crate::state::lock::Holder;
use crate::state::session::{Session, read};
use crate::state::store::Store;
use std::sync::Arc;

/// Renames a resource or an instance.
pub(super) async fn run(context: &Context, arguments: &Mv) -> Result<u8, CliError> {
    let store = store(context)?;
    let holder = context.environment.holder(&context.command_line.to_string());
    let parts = |text: &str| text.split('/').count();
    match (parts(&arguments.source), parts(&arguments.destination)) {
        (2, 2) => instance(context, arguments, store, &holder).await,
        (source, destination) if source > 2 && destination > 2 => resource(context, arguments, store, holder).await,
        _ => Err(CliError::Usage(format!(
            "`{}` and `{}` are not of one sort: name two instances (KIND/NAME), or two addresses of one instance",
            arguments.source, arguments.destination
        ))),
    }
}

/// Renames a resource within its instance.
async fn resource(context: &Context, arguments: &Mv, store: Arc<dyn Store>, holder: Holder) -> Result<u8, CliError> {
    if arguments.to_namespace.is_some() {
        return Err(CliError::Usage("--to-namespace is for instances: a resource stays where it is".to_owned()));
    }
    let name = instance_of(&arguments.source);
    if instance_of(&arguments.destination) != name {
        return Err(CliError::Usage(format!(
            "{} is a resource of another instance than {}: that is not carried out; `state rm` here and `import` there does it",
            arguments.destination, arguments.source
        )));
    }
    let state = select::state(&*store, &name, arguments.namespace.as_deref()).await?;
    renamed(&state, arguments)?;
    let question = format!("{} becomes {}. Nothing changes on AWS.", arguments.source, arguments.destination);
    Questions::new(context, "state mv").whether(&question).await?;
    let session = Session::open(store, state.instance.clone(), holder).await?;
    let after = session.replace(renamed(&session.state(), arguments)?).await?;
    session.close().await?;
    let text = format!("{} is {} now; serial {}. {TAGS_OF_RESOURCE}", arguments.source, arguments.destination, after.serial);
    let changed = vec![arguments.destination.clone()];
    print(context, Changed { key: after.instance.store_key(), serial: after.serial, addresses: changed }, &text);
    Ok(0)
}

const TAGS_OF_RESOURCE: &str = "The address in the documents wins: where they have the new one, the next apply puts it into the \
tags on AWS; where they still have the old one, it takes that back.";
const TAGS: &str = "The next apply puts the new name into the tags on AWS.";

/// The first two parts of an address: KIND/NAME.
fn instance_of(address: &str) -> String {
    address.split('/').take(2).collect::<Vec<_>>().join("/")
}

/// A state with one resource renamed.
fn renamed(state: &StateFile, arguments: &Mv) -> Result<StateFile, CliError> {
    let record = select::record(state, &arguments.source)?;
    check_closed(state)?;
    if arguments.destination.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
        return Err(CliError::Usage(format!("`{}` is no address: KIND/NAME/RESOURCE", arguments.destination)));
    }
    let from = record.identity.clone();
    let to = Identity { name: arguments.metadata_name.clone().unwrap_or_else(|| from.name.clone()), ..from.clone() };
    let is_taken = |other: &&crate::state::file::Record| {
        other.identity != from && (other.address.as_str() == arguments.destination || other.identity == to)
    };
    if let Some(other) = state.resources.iter().find(is_taken) {
        return Err(CliError::Usage(format!("{} is there already: {} {}", arguments.destination, other.identity.kind, other.id)));
    }
    let mut after = state.clone();
    for record in &mut after.resources {
        if record.identity == from {
            record.identity = to.clone();
            record.address = Address(arguments.destination.clone());
        }
        record.dependencies.iter_mut().filter(|dependency| **dependency == from).for_each(|dependency| *dependency = to.clone());
    }
    Ok(after)
}

/// Refuses while what came of a call is not known: it is looked for by the name that it was made with.
fn check_closed(state: &StateFile) -> Result<(), CliError> {
    let Some(begin) = state.open.first() else { return Ok(()) };
    let (operation, address) = (&begin.operation, &begin.address);
    Err(CliError::Usage(format!("what came of {operation} for {address} is not known yet: let apply or destroy find out first")))
}

/// Renames an instance: its state goes to another key.
async fn instance(context: &Context, arguments: &Mv, store: Arc<dyn Store>, holder: &Holder) -> Result<u8, CliError> {
    if arguments.metadata_name.is_some() {
        return Err(CliError::Usage("--metadata-name is for resources".to_owned()));
    }
    let state = select::state(&*store, &arguments.source, arguments.namespace.as_deref()).await?;
    let to = destination(&state.instance, arguments)?;
    let there = read(&*store, &to).await?;
    check_closed(&state)?;
    if Way::of(&state, there.as_ref(), &to)? == Way::Over {
        return Ok(over(context, &state, &to, there));
    }
    let resources = plural(state.resources.len(), "resource");
    let question = format!("{} with {resources} becomes {to}. Nothing changes on AWS.", state.instance);
    Questions::new(context, "state mv").whether(&question).await?;
    // Both are locked before anything is written.
    let old = Session::open(store.clone(), state.instance.clone(), holder.clone()).await?;
    let new = Session::open(store.clone(), to.clone(), holder.clone()).await?;
    let state = old.state();
    check_closed(&state)?;
    let there = new.state();
    check_closed(&there)?;
    let way = Way::of(&state, Some(&there), &to)?;
    if way == Way::Over {
        return Ok(over(context, &state, &to, Some(there)));
    }
    // First there, then away: killed in between, both have it. Nothing is done with either then, and the same command goes on.
    let after = if way == Way::Begun && is_at_home(&there) { there } else { new.replace(moved(&state, &to)).await? };
    old.replace(StateFile { resources: Vec::new(), definitions: None, ..state.clone() }).await?;
    new.close().await?;
    old.close().await?;
    let text = format!("{} is {to} now, with {resources}. {TAGS}", state.instance);
    let changed = after.resources.iter().map(|record| record.address.to_string()).collect();
    print(context, Changed { key: to.store_key(), serial: after.serial, addresses: changed }, &text);
    Ok(0)
}

fn destination(from: &InstanceKey, arguments: &Mv) -> Result<InstanceKey, CliError> {
    let (kind, name) = arguments.destination.split_once('/').unwrap_or_default();
    if !kind.eq_ignore_ascii_case(&from.kind) {
        return Err(CliError::Usage(format!("{} is a {}: it does not become a {kind}", arguments.source, from.kind)));
    }
    let namespace = arguments.to_namespace.clone().unwrap_or_else(|| from.namespace.clone());
    if let Some(bad) = [name, &namespace].into_iter().find(|name| !select::is_name(name)) {
        return Err(CliError::Usage(format!("`{bad}` cannot be a name: small letters, digits, dashes and dots")));
    }
    let to = InstanceKey { name: name.to_owned(), namespace, ..from.clone() };
    if to == *from {
        return Err(CliError::Usage(format!("{} has that name already", arguments.source)));
    }
    Ok(to)
}

/// How far the move of an instance has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Nothing is at the new name.
    Free,
    /// Both have it: it broke off.
    Begun,
    /// Only the new name has it.
    Over,
}

impl Way {
    fn of(from: &StateFile, there: Option<&StateFile>, to: &InstanceKey) -> Result<Self, CliError> {
        match there.filter(|there| !is_free(there)) {
            None => Ok(Self::Free),
            Some(there) if is_free(from) && from.lineage == there.lineage => Ok(Self::Over),
            Some(there) if are_one(from, there) => Ok(Self::Begun),
            Some(_) => Err(CliError::Usage(format!("{to} has a state already: nothing was changed"))),
        }
    }
}

/// Whether the addresses of a state are those of its instance: it was moved there, and not copied by hand.
fn is_at_home(state: &StateFile) -> bool {
    let root = format!("{}/{}/", state.instance.kind, state.instance.name);
    state.resources.iter().all(|record| record.address.as_str().starts_with(&root))
}

/// Says that an earlier move came to its end.
fn over(context: &Context, from: &StateFile, to: &InstanceKey, there: Option<StateFile>) -> u8 {
    let serial = there.map_or(0, |state| state.serial);
    let text = format!("{} is {to} already: nothing was changed. {TAGS}", from.instance);
    print(context, Changed { key: to.store_key(), serial, addresses: Vec::new() }, &text);
    0
}

/// Whether a state knows of nothing: it was never used, or all of it is destroyed or moved.
fn is_free(state: &StateFile) -> bool {
    state.resources.is_empty() && state.open.is_empty()
}

/// A state under another name. Objects whose namespace was that of the instance go along.
fn moved(state: &StateFile, to: &InstanceKey) -> StateFile {
    let from = &state.instance;
    let (old_root, new_root) = (format!("{}/{}", from.kind, from.name), format!("{}/{}", to.kind, to.name));
    let identity = |old: &Identity| {
        let namespace = if old.namespace == from.namespace { to.namespace.clone() } else { old.namespace.clone() };
        Identity { namespace, ..old.clone() }
    };
    let mut after = StateFile { instance: to.clone(), ..state.clone() };
    for record in &mut after.resources {
        record.identity = identity(&record.identity);
        record.dependencies = record.dependencies.iter().map(identity).collect();
        if let Some(rest) = record.address.as_str().strip_prefix(&old_root) {
            record.address = Address(format!("{new_root}{rest}"));
        }
    }
    after
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;

    /// A state with a VPC and a subnet that needs it.
    pub(in super::super) fn state() -> StateFile {
        let identity = |kind: &str, name: &str| {
            json!({"apiVersion": "ec2.services.k8s.aws/v1alpha1", "kind": kind, "namespace": "argocd", "name": name,
                   "account": "222222222222", "region": "us-west-2"})
        };
        let record = |kind: &str, name: &str, dependencies: serde_json::Value| {
            json!({"identity": identity(kind, name), "address": format!("EksCluster/one/vpc/{name}"), "role": null,
                   "id": format!("{name}-0abc"), "phase": "ready", "applied": {}, "status": {}, "dependencies": dependencies,
                   "since": "2026-01-01T00:00:00Z", "createdAt": "2026-01-01T00:00:00Z"})
        };
        let file = json!({"version": 2, "lineage": "ours", "serial": 4, "writer": "w", "definitions": null, "foldedSegment": 2,
            "lastEntry": 2, "open": [],
            "instance": {"apiVersion": "kro.run/v1alpha1", "kind": "EksCluster", "namespace": "argocd", "name": "one"},
            "resources": [record("VPC", "vpc", json!([])), record("Subnet", "subnet", json!([identity("VPC", "vpc")]))]});
        serde_json::from_value(file).unwrap()
    }

    fn rename(destination: &str, name: Option<&str>) -> Result<StateFile, String> {
        let arguments = Mv {
            source: "EksCluster/one/vpc/vpc".into(),
            destination: destination.into(),
            metadata_name: name.map(Into::into),
            ..Mv::default()
        };
        renamed(&state(), &arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn what_depends_on_a_renamed_resource_goes_on_depending_on_it() {
        let after = rename("EksCluster/one/vpc/network", Some("network")).unwrap();
        let [network, subnet] = after.resources.as_slice() else { panic!("two resources") };
        assert_eq!((network.address.as_str(), network.identity.name.as_str()), ("EksCluster/one/vpc/network", "network"));
        assert_eq!(network.id, "vpc-0abc");
        assert_eq!(subnet.dependencies, std::slice::from_ref(&network.identity));
    }

    #[test]
    fn no_two_resources_share_an_address() {
        let taken = rename("EksCluster/one/vpc/subnet", None).unwrap_err();
        assert_eq!(taken, "EksCluster/one/vpc/subnet is there already: Subnet subnet-0abc");
    }

    #[test]
    fn a_move_that_broke_off_goes_on() {
        let to = InstanceKey { name: "two".into(), ..state().instance };
        let there = moved(&state(), &to);
        let emptied = StateFile { resources: Vec::new(), ..state() };
        let way = |from: &StateFile, there: Option<&StateFile>| Way::of(from, there, &to).map_err(|error| error.to_string());
        assert_eq!(way(&state(), None), Ok(Way::Free));
        assert_eq!(way(&state(), Some(&emptied)), Ok(Way::Free));
        assert_eq!(way(&state(), Some(&there)), Ok(Way::Begun));
        assert_eq!(way(&emptied, Some(&there)), Ok(Way::Over));
        assert!(is_at_home(&there) && !is_at_home(&StateFile { instance: to.clone(), ..state() }));
        let strange = StateFile { lineage: "another".into(), ..there.clone() };
        let fewer = StateFile { resources: there.resources[..1].to_vec(), ..there };
        for other in [strange, fewer] {
            assert_eq!(
                way(&state(), Some(&other)).unwrap_err(),
                "EksCluster/two in namespace argocd has a state already: nothing was changed"
            );
        }
    }

    #[test]
    fn an_instance_takes_its_resources_along() {
        let to = InstanceKey { name: "two".into(), namespace: "fleet".into(), ..state().instance };
        let after = moved(&state(), &to);
        assert_eq!(after.lineage, "ours");
        assert!(after.resources.iter().all(|record| record.address.as_str().starts_with("EksCluster/two/vpc/")));
        assert!(after.resources.iter().all(|record| record.identity.namespace == "fleet"));
        assert_eq!(after.resources[1].dependencies, std::slice::from_ref(&after.resources[0].identity));
    }
}
