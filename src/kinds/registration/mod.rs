//! Registrations.

mod secret;
