//! The graph language: documents with source positions, `SimpleSchema`, `${}`, CEL, static checks, expansion,
//! evaluation and order. Pure: no I/O, no clock, no environment.
//!
//! The way through: [`yaml::parse`] makes [`yaml::Node`]s from text; [`definition::Definitions::load`] makes graph
//! definitions from those; [`documents`] sorts user documents; [`expansion::expand`] turns one instance into a
//! [`expansion::Graph`]; [`evaluation::evaluate`] says, from what has been observed so far, what each node wants.

pub mod catalog;
#[cfg(test)]
mod conformance_graph;
#[cfg(test)]
mod conformance_language;
#[cfg(test)]
mod conformance_upstream;
pub mod definition;
pub mod diagnostic;
pub mod documents;
pub mod evaluation;
pub mod expansion;
pub mod expression;
pub mod identity;
pub(crate) mod path;
pub mod scan;
pub mod schema;
pub mod simple_schema;
mod stack;
pub mod template;
#[cfg(test)]
mod test_catalog;
#[cfg(test)]
mod tests;
pub mod tree;
pub(crate) mod walk;
pub mod yaml;
