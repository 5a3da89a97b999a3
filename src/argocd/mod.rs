//! The Argo CD client: clusters over its REST API.
//!
//! Like the clients of AWS it hands out a *reader* and a *writer*; each method of the writer consumes a
//! [`Permit`](crate::state::journal::Permit).

mod applications;
mod client;
mod cluster;
mod errors;
pub mod preflight;
pub mod product;
pub mod settings;
#[cfg(test)]
pub(crate) mod simulated;

#[cfg(test)]
pub(crate) use client::connect_simulated;
pub use client::{Reader, UserInfo, Version, Writer, connect};
pub use cluster::{CacheInfo, Cluster, ConnectionState, Info};
