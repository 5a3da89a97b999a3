//! The kinds: one file each. What the graph language knows of them comes from [`catalog`]; what the engine does with them
//! goes through [`kind::Kind`].

pub mod catalog;
pub mod compare;
pub mod kind;
pub mod policy_document;
pub mod recorder;
pub mod schemas;
pub mod values;
