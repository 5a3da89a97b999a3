//! kubectl's configuration file: what is put into it, and how it is written without losing what others put there.

mod file;
mod merge;

pub(super) use file::{place, update};
pub(super) use merge::{Entry, Exec, merged, yaml};
