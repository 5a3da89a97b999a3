//! ARNs, accounts, regions and partitions.

/// The ARN of a role, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoleArn<'a> {
    /// `aws`.
    pub partition: &'a str,
    /// `123456789012`.
    pub account: &'a str,
    /// `team/ack`: name, with its path if it has one.
    pub name: &'a str,
}

impl<'a> RoleArn<'a> {
    /// Takes `arn:aws:iam::123456789012:role/team/ack` apart; `None` if it is not the ARN of a role.
    pub fn parse(arn: &'a str) -> Option<Self> {
        let mut parts = arn.splitn(6, ':');
        let (head, partition, service, region) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let (account, name) = (parts.next()?, parts.next()?.strip_prefix("role/")?);
        let iam = head == "arn" && partition.starts_with("aws") && service == "iam" && region.is_empty();
        let named = !name.is_empty() && !name.ends_with('/') && !name.contains(char::is_whitespace);
        (iam && named && is_account(account)).then_some(Self { partition, account, name })
    }
}

/// The partition of an ARN.
pub fn partition_of_arn(arn: &str) -> Option<&str> {
    arn.strip_prefix("arn:")?.split(':').next().filter(|partition| !partition.is_empty())
}

/// Whether a text is an account id.
pub fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|digit| digit.is_ascii_digit())
}

/// The word before the number of every region.
const DIRECTIONS: [&str; 9] = ["central", "east", "north", "northeast", "northwest", "south", "southeast", "southwest", "west"];

/// Whether a text has the form of a region: `us-west-2`, `us-gov-east-1`, `us-isob-east-1`.
pub fn is_region(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let Some((number, names)) = parts.split_last() else { return false };
    let is_word = |part: &&str| !part.is_empty() && part.bytes().all(|letter| letter.is_ascii_lowercase());
    let is_direction = names.last().is_some_and(|last| DIRECTIONS.contains(last));
    names.len() >= 2
        && names.iter().all(is_word)
        && is_direction
        && !number.is_empty()
        && number.bytes().all(|digit| digit.is_ascii_digit())
}

/// Partitions by the beginning of their regions, with the suffix of their DNS names.
const PARTITIONS: [(&str, &str, &str); 7] = [
    ("cn-", "aws-cn", "amazonaws.com.cn"),
    ("us-gov-", "aws-us-gov", "amazonaws.com"),
    ("us-iso-", "aws-iso", "c2s.ic.gov"),
    ("us-isob-", "aws-iso-b", "sc2s.sgov.gov"),
    ("eu-isoe-", "aws-iso-e", "cloud.adc-e.uk"),
    ("us-isof-", "aws-iso-f", "csp.hci.ic.gov"),
    ("eusc-", "aws-eusc", "amazonaws.eu"),
];

/// The partition of a region.
pub fn partition_of(region: &str) -> &'static str {
    PARTITIONS.iter().find(|(regions, ..)| region.starts_with(regions)).map_or("aws", |(_, partition, _)| partition)
}

/// The suffix of the DNS names of a partition: `amazonaws.com`.
pub fn dns_suffix(partition: &str) -> &'static str {
    PARTITIONS.iter().find(|(_, name, _)| *name == partition).map_or("amazonaws.com", |(.., suffix)| suffix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn role_arns_are_taken_apart() {
        let role = RoleArn::parse("arn:aws-cn:iam::123456789012:role/team/ack");
        assert_eq!(role, Some(RoleArn { partition: "aws-cn", account: "123456789012", name: "team/ack" }));
        for wrong in [
            "",
            "ack",
            "arn:aws:iam::123456789012:user/ack",
            "arn:aws:iam::123456789012:role/",
            "arn:aws:iam::12345678901:role/ack",
            "arn:aws:iam:us-west-2:123456789012:role/ack",
            "arn:aws:sts::123456789012:assumed-role/ack/x",
            "arn:aws:iam::123456789012:role/a b",
            "urn:aws:iam::123456789012:role/ack",
        ] {
            assert_eq!(RoleArn::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn accounts_have_twelve_digits() {
        assert!(is_account("012345678901"));
        for wrong in ["12345678901", "1234567890123", "12345678901x", ""] {
            assert!(!is_account(wrong), "{wrong}");
        }
    }

    #[test]
    fn regions_have_a_form() {
        for right in ["us-west-2", "us-gov-east-1", "ap-southeast-10", "us-isob-east-1", "eusc-de-east-1"] {
            assert!(is_region(right), "{right}");
        }
        for wrong in ["", "us", "us-west", "us-west-2a", "us-wset-2", "US-WEST-2", "us west 2", "${region}", "us--2"] {
            assert!(!is_region(wrong), "{wrong}");
        }
    }

    #[test]
    fn partitions_follow_regions() {
        let rows = [
            ("us-west-2", "aws", "amazonaws.com"),
            ("cn-north-1", "aws-cn", "amazonaws.com.cn"),
            ("us-gov-west-1", "aws-us-gov", "amazonaws.com"),
            ("us-iso-east-1", "aws-iso", "c2s.ic.gov"),
        ];
        for (region, partition, suffix) in rows {
            assert_eq!(partition_of(region), partition);
            assert_eq!(dns_suffix(partition), suffix);
        }
        assert_eq!(partition_of_arn("arn:aws-cn:sts::1:assumed-role/x/y"), Some("aws-cn"));
        assert_eq!(partition_of_arn("nonsense"), None);
    }
}
