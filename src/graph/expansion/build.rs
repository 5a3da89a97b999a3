//! The nodes of a graph.

use super::{Graph, GraphNode, NodeIndex, NodeRole};
use crate::graph::catalog::{Catalog, Scope};
use crate::graph::definition::{Definition, Definitions, Form, ResourceDefinition};
use crate::graph::diagnostic::Diagnostic;
use crate::graph::documents::Instance;
use crate::graph::identity::Address;
use crate::graph::schema::Schema;

/// Builds the nodes of an instance; edges and order come later.
pub(super) fn build(instance: &Instance, definitions: &Definitions, catalog: &dyn Catalog) -> Result<Graph, Vec<Diagnostic>> {
    let Some(definition) = definitions.of(&instance.api_version, &instance.kind) else {
        let message = format!("no usable definition defines `{}` of `{}`", instance.kind, instance.api_version);
        return Err(vec![Diagnostic::error("schema-not-found", message).at(&instance.node.location)]);
    };
    let mut builder = Builder { definitions, catalog, nodes: Vec::new(), problems: Vec::new() };
    builder.nodes.push(GraphNode {
        address: Address::root(&instance.kind, &instance.name),
        id: instance.name.clone(),
        api_version: instance.api_version.clone(),
        kind: instance.kind.clone(),
        scope: definition.scope,
        parent: None,
        role: NodeRole::Resource,
        template: None,
        include_when: Vec::new(),
        ready_when: Vec::new(),
        dependencies: Vec::new(),
        location: instance.node.location.clone(),
    });
    builder.children(NodeIndex(0), definition);
    if !builder.problems.is_empty() {
        return Err(builder.problems);
    }
    Ok(Graph {
        instance: instance.clone(),
        nodes: builder.nodes,
        edges: Vec::new(),
        gates: Vec::new(),
        order: Vec::new(),
        delete_waves: Vec::new(),
    })
}

struct Builder<'a> {
    definitions: &'a Definitions,
    catalog: &'a dyn Catalog,
    nodes: Vec<GraphNode>,
    problems: Vec<Diagnostic>,
}

impl Builder<'_> {
    /// Makes a node an instance of a definition.
    fn children(&mut self, parent: NodeIndex, definition: &Definition) {
        let mut children = Vec::new();
        for resource in &definition.resources {
            self.refuse_what_is_not_carried_out(resource);
            let index = NodeIndex(self.nodes.len());
            self.nodes.push(self.node(parent, resource));
            children.push(index);
            if let Some(nested) = self.definitions.of(&resource.api_version, &resource.kind) {
                self.children(index, nested);
            }
        }
        for (index, resource) in children.iter().zip(&definition.resources) {
            let ids = &resource.dependencies;
            let siblings = children.iter().copied().filter(|sibling| ids.contains(&self.nodes[sibling.0].id));
            self.nodes[index.0].dependencies = siblings.collect();
        }
        self.nodes[parent.0].role =
            NodeRole::Instance { children, status: definition.status.clone(), spec: Box::new(definition.spec.clone()) };
    }

    fn node(&self, parent: NodeIndex, resource: &ResourceDefinition) -> GraphNode {
        let nested = self.definitions.of(&resource.api_version, &resource.kind).map(|nested| nested.scope);
        let known = self.catalog.kind(&resource.api_version, &resource.kind).map(|kind| kind.scope);
        GraphNode {
            address: self.nodes[parent.0].address.child(&resource.id),
            id: resource.id.clone(),
            api_version: resource.api_version.clone(),
            kind: resource.kind.clone(),
            scope: nested.or(known).unwrap_or(Scope::Namespaced),
            parent: Some(parent),
            role: NodeRole::Resource,
            template: Some(resource.template.clone()),
            include_when: resource.include_when.clone(),
            ready_when: resource.ready_when.clone(),
            dependencies: Vec::new(),
            location: resource.location.clone(),
        }
    }

    fn refuse_what_is_not_carried_out(&mut self, resource: &ResourceDefinition) {
        let field = match resource.form {
            Form::Single => {
                self.refuse_missing_definition(resource);
                return;
            }
            Form::Collection(_) => "forEach",
            Form::External => "externalRef",
        };
        let message = format!("{field} is not carried out yet (resource `{}`)", resource.id);
        self.problems.push(Diagnostic::error("not-carried-out", message).at(&resource.location));
    }

    /// The definition of a nested kind may have been left out because of its errors.
    fn refuse_missing_definition(&mut self, resource: &ResourceDefinition) {
        let (api_version, kind) = (&resource.api_version, &resource.kind);
        if self.definitions.of(api_version, kind).is_none() && self.catalog.kind(api_version, kind).is_none() {
            let message = format!("no usable definition defines `{kind}` of `{api_version}` (resource `{}`)", resource.id);
            self.problems.push(Diagnostic::error("schema-not-found", message).at(&resource.location));
        }
    }
}

/// The schema of an instance's spec; anything goes for a resource.
pub(super) fn spec_schema(node: &GraphNode) -> Option<&Schema> {
    match &node.role {
        NodeRole::Resource => None,
        NodeRole::Instance { spec, .. } => Some(spec),
    }
}
