//! STS, as far as fleetctl calls it: it changes nothing, so there is no writer. Roles are assumed by the SDK's own provider.

use super::limits::Limits;
use super::operations::reads;

/// Reads STS.
#[derive(Debug, Clone)]
pub struct Reader {
    client: aws_sdk_sts::Client,
    limits: Limits,
}

impl Reader {
    pub(super) fn new(client: aws_sdk_sts::Client, limits: Limits) -> Self {
        Self { client, limits }
    }
}

reads! { "sts", aws_sdk_sts,
    get_caller_identity(GetCallerIdentityInputBuilder) -> GetCallerIdentityOutput, "GetCallerIdentity";
}
