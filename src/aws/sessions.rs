//! Sessions: one per role and external id, refreshed before it ends; clients per account and region.
