//! Placing: the account, region and role of every resource.

use super::api::EngineSettings;
use super::ownership::AwsName;
use super::report::EngineError;
use super::work::{HeldBack, Place, Work};
use crate::aws::identity::{self, Question, Refusal};
use crate::graph::definition::Definitions;
use crate::graph::diagnostic::Diagnostic;
use crate::graph::documents::{Documents, Instance};
use crate::graph::evaluation::{Observations, evaluate, is_carried_out};
use crate::graph::expansion::{Graph, NodeIndex, expand, is_registration};
use crate::graph::identity::Identity;
use crate::kinds::catalog::KindCatalog;
use crate::state::file::DefinitionsUsed;
use serde_json::Value;
use std::collections::BTreeMap;

/// Expands every instance and checks what can be checked without any call. Nothing is placed yet.
pub(super) fn expand_all(
    documents: &Documents,
    definitions: &Definitions,
    used: &DefinitionsUsed,
) -> Result<Vec<Work>, EngineError> {
    let mut problems = Vec::new();
    let mut works = Vec::new();
    for instance in &documents.instances {
        match expand(instance, definitions, &KindCatalog) {
            Ok(graph) => {
                let work = unplaced(graph, used);
                problems.extend(super::regions::problems(&work));
                works.push(work);
            }
            Err(diagnostics) => problems.extend(diagnostics),
        }
    }
    if problems.is_empty() { Ok(works) } else { Err(EngineError::Documents(problems)) }
}

/// Places the resources of expanded instances. `caller` is the caller's own account, when STS has told it.
pub(super) fn place_all(
    works: &mut [Work],
    documents: &Documents,
    settings: &EngineSettings,
    caller: Option<&str>,
) -> Result<(), EngineError> {
    works.iter_mut().try_for_each(|work| Placing { documents, settings, caller, work }.place_all())?;
    let twice = rendered_twice(works);
    if twice.is_empty() { Ok(()) } else { Err(EngineError::Documents(twice)) }
}

/// Instances that would make the objects of another one: each of the two would take them for its own.
fn rendered_twice(works: &[Work]) -> Vec<Diagnostic> {
    let mut owners: BTreeMap<&Identity, &Work> = BTreeMap::new();
    let mut names: BTreeMap<AwsName, &Work> = BTreeMap::new();
    let mut problems = Vec::new();
    for work in works {
        let placed = || work.places.iter().enumerate().filter_map(|(index, place)| Some((NodeIndex(index), place.as_ref()?)));
        let own: Vec<AwsName> = placed().filter_map(|(index, place)| name_in_aws(work, index, place)).collect();
        let by_identity = || {
            let clash = placed().find_map(|(_, place)| owners.get(&place.identity).map(|other| (place, *other)));
            clash.map(|(place, other)| (place.identity.to_string(), other))
        };
        let by_name = || own.iter().find_map(|name| names.get(name).map(|other| (name.to_string(), *other)));
        if let Some((what, other)) = by_identity().or_else(by_name) {
            let message = format!("{} and {} would both make {what}", other.key(), work.key());
            let problem = Diagnostic::error("duplicate-identity", message).at(&work.graph.instance.node.location);
            problems.push(problem.suggest("give each instance a name of its own in its spec"));
        }
        owners.extend(work.places.iter().flatten().map(|place| (&place.identity, work)));
        names.extend(own.into_iter().map(|name| (name, work)));
    }
    problems
}

fn name_in_aws(work: &Work, index: NodeIndex, place: &Place) -> Option<AwsName> {
    AwsName::of(&place.identity, &work.blank.node(index).desired.known_part())
}

fn unplaced(graph: Graph, definitions: &DefinitionsUsed) -> Work {
    let blank = evaluate(&graph, &Observations::new(), &KindCatalog);
    let places = vec![None; graph.nodes.len()];
    Work { graph, places, left_out: BTreeMap::new(), definitions: definitions.clone(), blank, held_back: HeldBack::default() }
}

struct Placing<'a> {
    documents: &'a Documents,
    settings: &'a EngineSettings,
    caller: Option<&'a str>,
    work: &'a mut Work,
}

impl Placing<'_> {
    fn place_all(&mut self) -> Result<(), EngineError> {
        let resources: Vec<NodeIndex> = self.work.graph.order.clone();
        for index in &resources {
            if self.is_carried_out(*index) && !self.registers(*index) {
                self.work.places[index.0] = Some(self.place(*index)?);
            }
        }
        // A registration lives where its cluster does: that is where the cluster is read.
        for index in resources {
            if !self.is_carried_out(index) || !self.registers(index) {
                continue;
            }
            if matches!(self.settings.argocd, super::api::ArgoCd::None) {
                self.work.left_out.insert(index, "`argocd: none` in the settings".to_owned());
                continue;
            }
            let of_cluster = self.cluster_of(index).cloned();
            let own = of_cluster.map_or_else(|| self.place(index), |cluster| self.beside(index, &cluster))?;
            self.work.places[index.0] = Some(own);
        }
        Ok(())
    }

    fn is_carried_out(&self, index: NodeIndex) -> bool {
        let Work { graph, blank, .. } = &*self.work;
        !blank.is_excluded(index) && is_carried_out(graph, &KindCatalog, index, &blank.node(index).desired)
    }

    fn registers(&self, index: NodeIndex) -> bool {
        let node = self.work.graph.node(index);
        is_registration(&node.api_version, &node.kind, &self.work.blank.node(index).desired)
    }

    fn cluster_of(&self, index: NodeIndex) -> Option<&Place> {
        let read = self.work.graph.edges_from(index).filter(|edge| edge.field.starts_with("stringData.server"));
        let mut clusters = read.filter_map(|edge| self.work.place(edge.to)).filter(|place| place.identity.kind == "Cluster");
        clusters.next()
    }

    fn beside(&self, index: NodeIndex, cluster: &Place) -> Result<Place, EngineError> {
        let identity = self.identity(index, &cluster.identity.account, &cluster.identity.region)?;
        Ok(Place { identity, role: cluster.role.clone(), because: cluster.because.clone() })
    }

    fn place(&self, index: NodeIndex) -> Result<Place, EngineError> {
        let node = self.work.graph.node(index);
        let object = self.work.blank.node(index).desired.known_part();
        let (namespace, name) = (text(&object, "/metadata/namespace"), text(&object, "/metadata/name"));
        let namespace_document = self.documents.namespaces.get(namespace);
        let region = identity::region(&object, namespace_document, self.settings.region.as_deref())
            .map_err(|refusal| refused(&refusal))?;
        let account = account_of(&self.work.graph.instance);
        let declared =
            account.is_some() || namespace_document.is_some_and(|it| it.annotations.contains_key(identity::OWNER_ACCOUNT));
        let question = Question {
            api_version: &node.api_version,
            kind: &node.kind,
            namespace,
            name,
            labels: &identity::labels(&object),
            namespace_document,
            account,
            region: &region,
            selectors: &self.documents.selectors,
            settings: &self.settings.accounts,
            // Without calls, an account that only the caller's identity would tell stays empty.
            caller: self.caller.or((!declared).then_some("")),
        };
        let choice = question.choose().map_err(|refusal| refused(&refusal))?;
        let identity = self.identity(index, &choice.account, &region)?;
        Ok(Place { identity, role: choice.role, because: choice.source.to_string() })
    }

    fn identity(&self, index: NodeIndex, account: &str, region: &str) -> Result<Identity, EngineError> {
        let node = self.work.graph.node(index);
        let object = self.work.blank.node(index).desired.known_part();
        let name = text(&object, "/metadata/name");
        if name.is_empty() {
            let message = format!("the name of {} is not known before AWS has been called", node.address);
            let problem = Diagnostic::error("missing-input", message).suggest("metadata.name may read `schema` only");
            let location = node.template.as_ref().map(|template| template.location.clone());
            return Err(EngineError::Documents(vec![location.map_or(problem.clone(), |location| problem.at(&location))]));
        }
        Ok(Identity {
            api_version: node.api_version.clone(),
            kind: node.kind.clone(),
            namespace: text(&object, "/metadata/namespace").to_owned(),
            name: name.to_owned(),
            account: account.to_owned(),
            region: region.to_owned(),
        })
    }
}

/// The account that a top-level instance names, by the input that AWS's example has for it.
fn account_of(instance: &Instance) -> Option<&str> {
    instance.object.pointer("/spec/accountId").and_then(Value::as_str).filter(|account| !account.is_empty())
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn refused(refusal: &Refusal) -> EngineError {
    let text = refusal.to_string();
    if refusal.offline { EngineError::Selector(text) } else { EngineError::Identity(text) }
}
