//! fleetctl provisions and watches fleets of Amazon EKS clusters from kro graph definitions, calling AWS directly.
//!
//! Data flows one way: documents → graph → plan → run → state. A floor may use only the floors below it:
//!
//! | module | holds |
//! |---|---|
//! | [`cli`] | arguments, settings, printer, progress, reports: the only code that knows a terminal or the environment |
//! | [`engine`] | refresh, plan, run, destroy, drift; speaks in events; knows no AWS SDK type |
//! | [`kinds`] | one file a kind: how it is found, read, created, configured, updated, deleted |
//! | [`aws`] | sessions, readers and writers, rate limits, error translation, tags |
//! | [`argocd`] | the Argo CD client |
//! | [`state`] | state file, journal, lock, store: the only code that writes state |
//! | [`graph`] | the graph language: documents, schema, `${}`, CEL, checks, expansion, evaluation, order. Pure |

pub mod argocd;
pub mod aws;
pub mod cli;
pub mod engine;
pub mod graph;
pub mod kinds;
pub mod state;
