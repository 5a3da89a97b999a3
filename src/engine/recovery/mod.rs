//! Recovery: states from what is there, and what is there without a state.
//!
//! [`listing`] finds by readers alone everything that bears fleetctl's marks; [`rebuild`] makes a lost state anew.

mod listing;
pub mod rebuild;
