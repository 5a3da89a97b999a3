//! Recovery: states from what is there, and what is there without a state.
//!
//! [`listing`] finds by readers alone everything that bears fleetctl's marks; [`rebuild`] makes a lost state anew;
//! [`orphans`] compares all states of a store with what is there; [`import`] takes
//! an object that is nobody's into a state; [`unrecorded`] takes in what a destroy would leave behind.

pub mod import;
mod listing;
pub mod orphans;
pub mod rebuild;
pub(super) mod unrecorded;
