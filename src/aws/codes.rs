//! AWS's error codes, and what they mean whichever kind asked.

use super::error::ErrorClass;

/// What AWS answered to a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refused<'a> {
    pub(super) operation: &'a str,
    pub(super) code: &'a str,
    pub(super) message: &'a str,
    pub(super) status: u16,
}

const THROTTLED: &[&str] = &[
    "BandwidthLimitExceeded",
    "EC2ThrottledException",
    "PriorRequestNotComplete",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
    "TransactionInProgressException",
];

const CREDENTIALS: &[&str] = &[
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "IncompleteSignature",
    "IncompleteSignatureException",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "MissingAuthenticationToken",
    "MissingAuthenticationTokenException",
    "RequestExpired",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
];

const DENIED: &[&str] = &[
    "AccessDenied",
    "AccessDeniedException",
    "Blocked",
    "NotAuthorized",
    "OperationNotPermitted",
    "OptInRequired",
    "PendingVerification",
    "UnauthorizedException",
    "UnauthorizedOperation",
];

const ALREADY_EXISTS: &[&str] = &[
    "EntityAlreadyExists",
    "EntityAlreadyExistsException",
    "InvalidGroup.Duplicate",
    "InvalidPermission.Duplicate",
    "ResourceAlreadyExistsException",
    "Resource.AlreadyAssociated",
    "Resource.AlreadyAttached",
    "RouteAlreadyExists",
];

const NOT_YET: &[&str] = &[
    "ConcurrentModification",
    "ConcurrentModificationException",
    "ConcurrentTagAccess",
    "DeleteConflict",
    "DeleteConflictException",
    "DependencyViolation",
    "EntityTemporarilyUnmodifiable",
    "EntityTemporarilyUnmodifiableException",
    "IncorrectState",
    "InvalidIPAddress.InUse",
    "InvalidState",
    "InvalidStateException",
    "Resource.InUse",
    "ResourceInUseException",
];

const UNCLEAR: &[&str] = &[
    "InternalError",
    "InternalFailure",
    "InternalServerException",
    "RequestTimeout",
    "RequestTimeoutException",
    "ServerException",
    "ServiceFailure",
    "ServiceFailureException",
    "ServiceUnavailable",
    "ServiceUnavailableException",
    "Unavailable",
];

/// Messages of EKS and IAM about a role or principal that is too fresh to be seen, or whose policies are.
const FRESH_ROLE: &[&str] = &[
    "could not be assumed",
    "does not have permission to assume",
    "Error in role params",
    "IAM role's policy must include",
    "Invalid principal",
    "invalid principal",
    "principalArn is invalid",
    "trust policy",
    "doesn't have the Amazon EKS Managed Policies",
];

/// Words in which EKS says that something is going on that ends by itself.
const IN_PROGRESS: &[&str] =
    &["in progress", "in status", "is being", "not ACTIVE", "not in ACTIVE", "status is", "currently updating", "currently has"];

/// Quotas by code, in the words of Service Quotas.
const QUOTAS: &[(&str, &str)] = &[
    ("AddressLimitExceeded", "EC2-VPC Elastic IPs"),
    ("CidrBlockLimitExceeded", "IPv4 CIDR blocks per VPC"),
    ("InternetGatewayLimitExceeded", "Internet gateways per Region"),
    ("NatGatewayLimitExceeded", "NAT gateways per Availability Zone"),
    ("NetworkInterfaceLimitExceeded", "Network interfaces per Region"),
    ("RouteLimitExceeded", "Routes per route table"),
    ("RouteTableLimitExceeded", "Route tables per VPC"),
    ("RulesPerSecurityGroupLimitExceeded", "Inbound or outbound rules per security group"),
    ("SecurityGroupLimitExceeded", "VPC security groups per Region"),
    ("SubnetLimitExceeded", "Subnets per VPC"),
    ("TagLimitExceeded", "Tags per resource"),
    ("VpcCidrBlockLimitExceeded", "IPv4 CIDR blocks per VPC"),
    ("VpcLimitExceeded", "VPCs per Region"),
];

impl Refused<'_> {
    /// What it means.
    pub(super) fn class(&self) -> ErrorClass {
        let code = self.code;
        if self.status == 429 || THROTTLED.contains(&code) {
            ErrorClass::Throttled
        } else if self.is_held_address() {
            ErrorClass::NotYet
        } else if is_credentials(code) {
            ErrorClass::Credentials
        } else if DENIED.contains(&code) {
            ErrorClass::Denied
        } else if is_quota(code) {
            ErrorClass::Quota
        } else if is_not_found(code) {
            // Of an object that was made a moment ago it may mean `NotYet`: that is the recorder's to know.
            ErrorClass::NotFound
        } else if ALREADY_EXISTS.contains(&code) || self.is_taken() {
            ErrorClass::AlreadyExists
        } else if NOT_YET.contains(&code) || self.is_passing() {
            ErrorClass::NotYet
        } else if self.status >= 500 || UNCLEAR.contains(&code) {
            ErrorClass::Unclear
        } else {
            ErrorClass::Final
        }
    }

    /// The name of the quota, for a code that does not say it.
    pub(super) fn quota(&self) -> Option<&'static str> {
        let listed = QUOTAS.iter().find(|(code, _)| *code == self.code).map(|(_, name)| *name);
        // EKS has one code for all quotas.
        listed.or(match (self.code, self.operation) {
            ("ResourceLimitExceededException", "CreateCluster") => Some("EKS clusters per Region"),
            ("ResourceLimitExceededException", "CreateAccessEntry") => Some("Access entries per cluster"),
            ("ResourceLimitExceededException", "CreatePodIdentityAssociation") => Some("Pod Identity associations per cluster"),
            _ => None,
        })
    }

    /// EC2 answers `AuthFailure` when an address that is to be released is still held by a NAT gateway or an interface.
    fn is_held_address(&self) -> bool {
        self.code == "AuthFailure" && self.operation == "ReleaseAddress"
    }

    /// EKS's `ResourceInUseException` of a create call: the name is taken, unless the message speaks of an operation.
    fn is_taken(&self) -> bool {
        self.code == "ResourceInUseException" && self.operation.starts_with("Create") && !contains_any(self.message, IN_PROGRESS)
    }

    /// Refusals whose code alone does not tell that they pass.
    fn is_passing(&self) -> bool {
        match self.code {
            "InvalidParameterException" => contains_any(self.message, FRESH_ROLE) || self.is_missing_role(),
            "InvalidRequestException" => contains_any(self.message, IN_PROGRESS) || contains_any(self.message, FRESH_ROLE),
            "MalformedPolicyDocument" | "MalformedPolicyDocumentException" => contains_any(self.message, FRESH_ROLE),
            _ => false,
        }
    }

    /// `roleArn, arn:aws:iam::…:role/x, does not exist`.
    fn is_missing_role(&self) -> bool {
        self.message.contains("does not exist") && self.message.to_lowercase().contains("role")
    }
}

/// Whether a code speaks of the credentials with which a call was signed.
pub(super) fn is_credentials(code: &str) -> bool {
    CREDENTIALS.contains(&code)
}

fn is_quota(code: &str) -> bool {
    let limit = code.ends_with("LimitExceeded") || code.ends_with("LimitExceededException");
    // A limit of the request, not of the account.
    limit && code != "FilterLimitExceeded"
}

fn is_not_found(code: &str) -> bool {
    let listed = matches!(code, "NoSuchEntity" | "NoSuchEntityException" | "Gateway.NotAttached");
    listed || code.ends_with("NotFound") || code.ends_with("NotFoundException")
}

fn contains_any(text: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| text.contains(part))
}

#[cfg(test)]
mod tests {
    use super::ErrorClass::{self, *};
    use super::*;

    const ROWS: &[(&str, &str, &str, u16, ErrorClass)] = &[
        // too many calls
        ("DescribeVpcs", "RequestLimitExceeded", "Request limit exceeded.", 503, Throttled),
        ("CreateTags", "EC2ThrottledException", "", 503, Throttled),
        ("CreateRole", "Throttling", "Rate exceeded", 400, Throttled),
        ("DescribeCluster", "ThrottlingException", "Rate exceeded", 400, Throttled),
        ("DescribeCluster", "TooManyRequestsException", "", 429, Throttled),
        ("DescribeCluster", "Whatever", "", 429, Throttled),
        // not there
        ("DescribeVpcAttribute", "InvalidVpcID.NotFound", "The vpc ID 'vpc-1' does not exist", 400, NotFound),
        ("DeleteSubnet", "InvalidSubnetID.NotFound", "", 400, NotFound),
        ("DeleteNatGateway", "NatGatewayNotFound", "", 400, NotFound),
        ("ReleaseAddress", "InvalidAllocationID.NotFound", "", 400, NotFound),
        ("DeleteRoute", "InvalidRoute.NotFound", "", 400, NotFound),
        ("ReplaceRouteTableAssociation", "InvalidAssociationID.NotFound", "", 400, NotFound),
        ("ReplaceRoute", "InvalidRoute.NotFound", "", 400, NotFound),
        ("DisassociateRouteTable", "InvalidAssociationID.NotFound", "", 400, NotFound),
        ("DetachInternetGateway", "Gateway.NotAttached", "", 400, NotFound),
        ("DetachInternetGateway", "InvalidInternetGatewayID.NotFound", "", 400, NotFound),
        ("GetRole", "NoSuchEntity", "The role with name x cannot be found.", 404, NotFound),
        ("DeleteRole", "NoSuchEntity", "The role with name x cannot be found.", 404, NotFound),
        (
            "AttachRolePolicy",
            "NoSuchEntity",
            "Policy arn:aws:iam::aws:policy/X does not exist or is not attachable.",
            404,
            NotFound,
        ),
        ("DescribeCluster", "ResourceNotFoundException", "No cluster found for name: x.", 404, NotFound),
        ("CreateAddon", "ResourceNotFoundException", "No cluster found for name: x.", 404, NotFound),
        ("DeleteAccessEntry", "ResourceNotFoundException", "The specified principalArn could not be found.", 404, NotFound),
        ("CreateSubnet", "InvalidVpcID.NotFound", "", 400, NotFound),
        ("AssociateAccessPolicy", "ResourceNotFoundException", "The specified principalArn could not be found.", 404, NotFound),
        // there already
        ("CreateRole", "EntityAlreadyExists", "Role with name x already exists.", 409, AlreadyExists),
        ("CreateCluster", "ResourceInUseException", "Cluster already exists with name: x", 409, AlreadyExists),
        (
            "CreateAccessEntry",
            "ResourceInUseException",
            "The specified access entry resource is already in use on this cluster.",
            409,
            AlreadyExists,
        ),
        ("CreatePodIdentityAssociation", "ResourceInUseException", "Association already exists: a-1", 409, AlreadyExists),
        ("CreateRoute", "RouteAlreadyExists", "", 400, AlreadyExists),
        ("AttachInternetGateway", "Resource.AlreadyAssociated", "", 400, AlreadyExists),
        ("AssociateRouteTable", "Resource.AlreadyAssociated", "", 400, AlreadyExists),
        // passes by itself
        ("DeleteCluster", "ResourceInUseException", "Cluster has nodegroups attached", 409, NotYet),
        ("UpdateAccessEntry", "ResourceInUseException", "", 409, NotYet),
        ("CreateAddon", "ResourceInUseException", "Cluster x is currently updating", 409, NotYet),
        ("CreateAddon", "InvalidRequestException", "Cluster x is not in ACTIVE state", 400, NotYet),
        ("DeleteVpc", "DependencyViolation", "", 400, NotYet),
        ("DetachInternetGateway", "DependencyViolation", "has some mapped public address(es)", 400, NotYet),
        ("DeleteRole", "DeleteConflict", "", 409, NotYet),
        ("UpdateAssumeRolePolicy", "ConcurrentModification", "", 409, NotYet),
        ("DeleteRole", "EntityTemporarilyUnmodifiable", "", 409, NotYet),
        ("ReleaseAddress", "InvalidIPAddress.InUse", "", 400, NotYet),
        ("ReleaseAddress", "AuthFailure", "You do not have permission to access the specified resource.", 400, NotYet),
        ("DeleteNatGateway", "IncorrectState", "", 400, NotYet),
        (
            "CreateCluster",
            "InvalidParameterException",
            "Role with arn: arn:aws:iam::1:role/x, could not be assumed because it does not exist or the trusted entity is not correct",
            400,
            NotYet,
        ),
        ("CreateCluster", "InvalidParameterException", "roleArn, arn:aws:iam::1:role/x, does not exist", 400, NotYet),
        ("CreateCluster", "InvalidParameterException", "Error in role params", 400, NotYet),
        (
            "CreateAccessEntry",
            "InvalidParameterException",
            "The specified principalArn is invalid: invalid principal.",
            400,
            NotYet,
        ),
        ("CreateRole", "MalformedPolicyDocument", "Invalid principal in policy: \"AWS\":\"arn:aws:iam::1:role/x\"", 400, NotYet),
        // quotas
        ("CreateVpc", "VpcLimitExceeded", "The maximum number of VPCs has been reached.", 400, Quota),
        ("AllocateAddress", "AddressLimitExceeded", "", 400, Quota),
        ("CreateNatGateway", "NatGatewayLimitExceeded", "", 400, Quota),
        ("CreateRole", "LimitExceeded", "Cannot exceed quota for RolesPerAccount: 1000", 409, Quota),
        ("CreateCluster", "ResourceLimitExceededException", "", 400, Quota),
        // not allowed
        ("CreateVpc", "UnauthorizedOperation", "", 403, Denied),
        ("CreateCluster", "AccessDeniedException", "", 403, Denied),
        ("GetRole", "AccessDenied", "", 403, Denied),
        ("DescribeVpcs", "OptInRequired", "", 401, Denied),
        // credentials
        ("DescribeVpcs", "AuthFailure", "AWS was not able to validate the provided access credentials", 401, Credentials),
        ("DescribeVpcs", "RequestExpired", "", 400, Credentials),
        ("GetCallerIdentity", "ExpiredToken", "", 403, Credentials),
        ("DescribeCluster", "ExpiredTokenException", "", 403, Credentials),
        ("GetCallerIdentity", "InvalidClientTokenId", "", 403, Credentials),
        ("DescribeCluster", "UnrecognizedClientException", "", 403, Credentials),
        ("GetRole", "SignatureDoesNotMatch", "", 403, Credentials),
        // nobody knows
        ("CreateVpc", "InternalError", "", 500, Unclear),
        ("CreateVpc", "Unavailable", "", 503, Unclear),
        ("CreateRole", "ServiceFailure", "", 500, Unclear),
        ("CreateCluster", "ServerException", "", 500, Unclear),
        ("CreateCluster", "ServiceUnavailableException", "", 503, Unclear),
        ("CreateCluster", "", "", 502, Unclear),
        // final
        ("CreateSubnet", "InvalidSubnet.Conflict", "", 400, Final),
        ("CreateSubnet", "InvalidSubnet.Range", "", 400, Final),
        ("CreateVpc", "InvalidParameterValue", "", 400, Final),
        ("CreateCluster", "InvalidParameterException", "unsupported Kubernetes version", 400, Final),
        ("CreateCluster", "UnsupportedAvailabilityZoneException", "", 400, Final),
        ("CreateRole", "MalformedPolicyDocument", "Syntax errors in policy.", 400, Final),
        ("CreateVpc", "IdempotentParameterMismatch", "", 400, Final),
        ("DeleteCluster", "InvalidRequestException", "Cannot delete: deletion protection is currently enabled", 400, Final),
        ("DescribeVpcs", "FilterLimitExceeded", "", 400, Final),
    ];

    #[test]
    fn codes_mean_what_they_mean() {
        for &(operation, code, message, status, class) in ROWS {
            let refused = Refused { operation, code, message, status };
            assert_eq!(refused.class(), class, "{operation} {code}: {message}");
        }
    }

    #[test]
    fn quotas_have_names() {
        let quota = |operation, code| Refused { operation, code, message: "", status: 400 }.quota();
        assert_eq!(quota("CreateVpc", "VpcLimitExceeded"), Some("VPCs per Region"));
        assert_eq!(quota("AllocateAddress", "AddressLimitExceeded"), Some("EC2-VPC Elastic IPs"));
        assert_eq!(quota("CreateCluster", "ResourceLimitExceededException"), Some("EKS clusters per Region"));
        assert_eq!(quota("CreateRole", "LimitExceeded"), None);
    }
}
