//! Service Quotas, as far as fleetctl calls it: it changes nothing, so there is no writer.

use super::limits::Limits;
use super::operations::reads;

/// Reads Service Quotas in one account and region.
#[derive(Debug, Clone)]
pub struct Reader {
    client: aws_sdk_servicequotas::Client,
    limits: Limits,
}

impl Reader {
    pub(super) fn new(client: aws_sdk_servicequotas::Client, limits: Limits) -> Self {
        Self { client, limits }
    }
}

reads! { "servicequotas", aws_sdk_servicequotas,
    get_service_quota(GetServiceQuotaInputBuilder) -> GetServiceQuotaOutput, "GetServiceQuota";
}
