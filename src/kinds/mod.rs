//! The kinds: one file each. What the graph language knows of them comes from [`catalog`]; what the engine does with them
//! goes through [`kind::Kind`].

pub mod access_entry;
pub mod addon;
#[cfg(test)]
mod calls;
pub mod catalog;
pub mod cluster;
pub mod compare;
pub mod ec2;
mod eks;
pub mod kind;
pub mod marked;
pub mod news;
pub mod pod_identity_association;
pub mod policy_document;
pub mod recorder;
pub mod registration;
pub mod role;
pub mod schemas;
mod shared;
pub mod tags;
pub mod values;
