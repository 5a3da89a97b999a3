//! The shape of every reader's and writer's methods: one call through the SDK, behind the rate limits, its error
//! translated.

/// Methods of a reader: `describe_vpcs(DescribeVpcsInputBuilder) -> DescribeVpcsOutput, "DescribeVpcs"`.
macro_rules! reads {
    ($service:literal, $sdk:ident, $($method:ident($input:ident) -> $output:ident, $operation:literal);+ $(;)?) => {
        impl Reader {
            $(
                #[doc = concat!("AWS `", $service, ":", $operation, "`. Errors are translated; throttling has been retried by the SDK.")]
                pub async fn $method(
                    &self,
                    input: $sdk::operation::$method::builders::$input,
                ) -> Result<$sdk::operation::$method::$output, $crate::aws::error::CallError> {
                    self.limits.acquire($service, $operation).await;
                    let answer = input.send_with(&self.client).await;
                    self.limits.settle($service, $operation, answer.map_err(|error| $crate::aws::error::translate($service, $operation, &error)))
                }
            )+
        }
    };
}

/// Methods of a writer: like those of a reader, but each consumes a permit and makes one attempt.
macro_rules! writes {
    ($service:literal, $sdk:ident, $($method:ident($input:ident) -> $output:ident, $operation:literal);+ $(;)?) => {
        impl Writer {
            /// Everything that it can change.
            #[cfg(test)]
            pub(crate) const OPERATIONS: &[(&str, &str)] = &[$(($service, $operation)),+];

            $(
                #[doc = concat!("AWS `", $service, ":", $operation, "`: one attempt, errors translated.")]
                pub async fn $method(
                    &self,
                    _permit: $crate::state::journal::Permit,
                    input: $sdk::operation::$method::builders::$input,
                ) -> Result<$sdk::operation::$method::$output, $crate::aws::error::CallError> {
                    self.limits.acquire($service, $operation).await;
                    let answer = input.send_with(&self.client).await;
                    self.limits.settle($service, $operation, answer.map_err(|error| $crate::aws::error::translate($service, $operation, &error)))
                }
            )+
        }
    };
}

pub(super) use {reads, writes};
