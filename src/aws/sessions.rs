//! Sessions: one per role and external id, refreshed before it ends; clients per account and region.

/// All sessions of a run.
#[derive(Debug)]
pub struct Sessions {}
