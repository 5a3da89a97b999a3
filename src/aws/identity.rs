//! Whose account: which role reaches the account of an object (DESIGN: fail closed on identity).

/// Why an object has no account, role or region, and the way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refusal {
    /// What is wrong, with names.
    pub reason: String,
    /// Whether documents and settings alone show it (exit 4); otherwise STS says it (exit 6).
    pub offline: bool,
}
