//! The engine: refresh, plan, run, destroy. It speaks in [`events`] and returns reports; it knows no AWS SDK type, no
//! terminal and no environment.
//!
//! The way through an apply: [`work::Work`] is an expanded instance with the account, region and role of every resource;
//! [`refresh`] reads what is there; [`planner::plan`] says what has to change; [`run`] carries it out. Destroy goes from the
//! state alone. [`drift`] looks with readers alone.

pub mod api;
mod apply;
mod clock;
mod clouds;
pub mod clusters;
mod context;
mod copies;
mod destroy;
mod drain;
pub mod drift;
pub mod events;
mod facts;
pub mod failure;
pub mod finding;
mod look;
mod object;
pub mod outcome;
mod outlook;
mod ownership;
mod pace;
mod place;
pub mod plan;
pub mod planner;
mod preflight;
pub mod recovery;
mod refresh;
mod regions;
mod removal;
pub mod report;
mod resolve;
mod run;
#[cfg(test)]
mod simulation;
mod status;
pub mod stop;
mod subject;
pub mod waves;
pub mod work;
