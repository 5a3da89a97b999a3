//! Graph definitions: kro's `ResourceGraphDefinitions`, read and checked.

mod checks;
mod expressions;
mod for_each;
mod load;
mod metadata;
mod naming;
mod order;
mod resource;
mod schemas;
mod status;

use super::catalog::{Catalog, Scope};
use super::diagnostic::{Diagnostic, Location};
use super::expression::Expression;
use super::schema::Schema;
use super::template::Template;
use super::yaml::Node;
use indexmap::IndexMap;

pub use super::yaml::Key;
pub(crate) use checks::unknown_kind;
pub(crate) use load::{API_VERSION, KIND, in_reading_order, unknown_fields};
pub(crate) use naming::is_dns_name;
pub(crate) use order::{delete_layers, topological};

/// All graph definitions in use, by the kind they define; kinds used by others come first.
#[derive(Debug, Default)]
pub struct Definitions {
    /// By kind.
    pub by_kind: IndexMap<String, Definition>,
}

/// One graph definition.
#[derive(Debug)]
pub struct Definition {
    /// `metadata.name`.
    pub name: String,
    /// The kind it defines.
    pub kind: String,
    /// `kro.run/v1alpha1`: group and version of that kind.
    pub api_version: String,
    /// Whether instances are namespaced.
    pub scope: Scope,
    /// Schema of an instance's spec.
    pub spec: Schema,
    /// `status` fields: the path below `status`, and a template whose leaves all hold expressions.
    pub status: Vec<(Key, Template)>,
    /// Resources, in author order.
    pub resources: Vec<ResourceDefinition>,
    /// Where the document starts.
    pub location: Location,
}

/// One resource of a definition.
#[derive(Debug)]
pub struct ResourceDefinition {
    /// Its id.
    pub id: String,
    /// `ec2.services.k8s.aws/v1alpha1`.
    pub api_version: String,
    /// `VPC`, or a kind that another definition defines.
    pub kind: String,
    /// What the entry stands for.
    pub form: Form,
    /// The whole object: apiVersion, kind, metadata, spec, ….
    pub template: Template,
    /// All must hold for the resource to be included.
    pub include_when: Vec<Expression>,
    /// All must hold for its gate to open.
    pub ready_when: Vec<Expression>,
    /// Ids of resources that its template and includeWhen read, in author order: kro's own edges.
    pub dependencies: Vec<String>,
    /// Where the entry starts.
    pub location: Location,
}

/// What an entry of `resources` stands for.
#[derive(Debug)]
pub enum Form {
    /// One object.
    Single,
    /// `forEach`: one object for each combination of the axes' items.
    Collection(Vec<Axis>),
    /// `externalRef`: an object that is read, never written. The template holds the reference.
    External,
}

/// One axis of a `forEach`.
#[derive(Debug)]
pub struct Axis {
    /// The variable that holds the item.
    pub iterator: String,
    /// The list.
    pub list: Expression,
}

/// kro's feature gates, as far as the checks know them. All are off, as they are in kro.
#[derive(Debug, Clone, Copy, Default)]
pub struct Features {
    /// `CELOmitFunction`.
    pub omit: bool,
}

impl Definitions {
    /// Reads and checks every `ResourceGraphDefinition` among the documents (kro.md 1.4 checks 1 to 10, 12, 16 and 17).
    /// Problems of all definitions are reported at once; a definition with errors is left out of the result.
    pub fn load(documents: &[Node], catalog: &dyn Catalog) -> (Self, Vec<Diagnostic>) {
        Self::load_with(documents, catalog, Features::default())
    }

    /// [`Definitions::load`] with some of kro's feature gates open.
    pub fn load_with(documents: &[Node], catalog: &dyn Catalog, features: Features) -> (Self, Vec<Diagnostic>) {
        load::load(documents, catalog, features)
    }

    /// The definition of a kind.
    #[must_use]
    pub fn of(&self, api_version: &str, kind: &str) -> Option<&Definition> {
        self.by_kind.get(kind).filter(|definition| definition.api_version == api_version)
    }
}

/// Whether a document is a graph definition, or was meant to be one.
#[must_use]
pub fn is_definition(document: &Node) -> bool {
    load::is_definition(document)
}

impl Definition {
    /// Ids in kro's order (kro.md 4.2): Kahn's algorithm, always the ready node that was declared first.
    #[must_use]
    pub fn topological_order(&self) -> Vec<&str> {
        let order = topological(&self.edges()).unwrap_or_default();
        order.into_iter().map(|index| self.resources[index].id.as_str()).collect()
    }

    /// kro's deletion layers, first deleted first.
    #[must_use]
    pub fn delete_waves(&self) -> Vec<Vec<&str>> {
        let layers = delete_layers(&self.edges());
        layers.into_iter().map(|layer| layer.into_iter().map(|index| self.resources[index].id.as_str()).collect()).collect()
    }

    /// For each resource the indices of those it depends on.
    pub(crate) fn edges(&self) -> Vec<Vec<usize>> {
        let index_of = |id: &String| self.resources.iter().position(|resource| resource.id == *id);
        self.resources.iter().map(|resource| resource.dependencies.iter().filter_map(index_of).collect()).collect()
    }

    /// The resource with this id.
    #[must_use]
    pub fn resource(&self, id: &str) -> Option<&ResourceDefinition> {
        self.resources.iter().find(|resource| resource.id == id)
    }
}
