//! Graph definitions: kro's ResourceGraphDefinitions, read and checked.

use super::catalog::Catalog;
use super::diagnostic::{Diagnostic, Location};
use super::expression::Expression;
use super::schema::Schema;
use super::template::Template;
use super::yaml::Node;
use indexmap::IndexMap;

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
    pub scope: super::catalog::Scope,
    /// Schema of an instance's spec.
    pub spec: Schema,
    /// `status` fields: the path below `status`, and a template whose leaves all hold expressions.
    pub status: Vec<(Key, Template)>,
    /// Resources, in author order.
    pub resources: Vec<ResourceDefinition>,
    /// Where the document starts.
    pub location: Location,
}

pub use super::yaml::Key;

/// One resource of a definition.
#[derive(Debug)]
pub struct ResourceDefinition {
    /// Its id.
    pub id: String,
    /// `ec2.services.k8s.aws/v1alpha1`.
    pub api_version: String,
    /// `VPC`, or a kind that another definition defines.
    pub kind: String,
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

impl Definitions {
    /// Reads and checks every ResourceGraphDefinition among the documents (kro.md 1.4 checks 1 to 10, 12, 16 and 17).
    /// Problems of all definitions are reported at once; a definition with errors is left out of the result.
    pub fn load(_documents: &[Node], _catalog: &dyn Catalog) -> (Self, Vec<Diagnostic>) {
        todo!()
    }
}

impl Definition {
    /// Ids in kro's order (kro.md 4.2): Kahn's algorithm, always the ready node that was declared first.
    pub fn topological_order(&self) -> Vec<&str> {
        todo!()
    }

    /// kro's deletion layers, first deleted first.
    pub fn delete_waves(&self) -> Vec<Vec<&str>> {
        todo!()
    }
}
