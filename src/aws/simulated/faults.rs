//! What goes wrong, and when: decided by a seed, so that it goes wrong again in the same way.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

/// How the simulation misbehaves.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults {
    /// Part of the calls that is throttled.
    pub(crate) throttled: f64,
    /// Part of the calls that is taken and whose reply is lost.
    pub(crate) lost: f64,
    /// How long at most a new object of EC2 or IAM is not shown, nor seen by calls that need it.
    pub(crate) lag: Duration,
    /// How long at most EKS does not see a new role.
    pub(crate) propagation: Duration,
    /// How long at most what is gone is still shown by EC2 and IAM, as it was.
    pub(crate) lingers: Duration,
    /// Where the process dies.
    pub(crate) kill: Option<Kill>,
    /// A call whose reply does not arrive.
    pub(crate) lost_call: Option<LostCall>,
}

/// A call that changes something, and how its reply is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LostCall {
    /// See [`what_of`].
    pub(crate) what: String,
    /// Which of the calls of this process that are such a one; the first is 1.
    pub(crate) number: usize,
    pub(crate) loss: Loss,
}

/// How the reply to a call is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Loss {
    /// It took effect, and the connection broke.
    Broken,
    /// It took effect, and the service answered that something went wrong.
    Failed,
    /// As [`Loss::Broken`], and so is every further call of this process that says the very same.
    BrokenEachTime,
    /// It took effect, and no answer ever came: whoever waits for it gives up.
    NoAnswer,
    /// It had no effect, and the service answered that something went wrong.
    NotServed,
    /// It never arrived.
    NeverArrived,
}

impl Loss {
    pub(crate) const ALL: [Self; 6] =
        [Self::Broken, Self::Failed, Self::BrokenEachTime, Self::NoAnswer, Self::NotServed, Self::NeverArrived];

    pub(super) fn takes_effect(self) -> bool {
        matches!(self, Self::Broken | Self::Failed | Self::BrokenEachTime | Self::NoAnswer)
    }
}

/// Service and operation, and the kind where several have it: `ec2:CreateTags VPC`.
pub(crate) fn what_of(service: &str, operation: &str, text: &str) -> String {
    let kinds: &[(&str, &str)] = match (service, operation) {
        ("ec2", "CreateTags" | "DeleteTags") => &[
            ("vpc-", "VPC"),
            ("subnet-", "Subnet"),
            ("igw-", "InternetGateway"),
            ("rtb-", "RouteTable"),
            ("nat-", "NATGateway"),
            ("eipalloc-", "ElasticIPAddress"),
        ],
        ("eks", "TagResource" | "UntagResource") => &[
            (":cluster/", "Cluster"),
            (":addon/", "Addon"),
            (":access-entry/", "AccessEntry"),
            (":podidentityassociation/", "PodIdentityAssociation"),
        ],
        _ => &[],
    };
    let begins = |word: &str, part: &str| if part.starts_with(':') { word.contains(part) } else { word.starts_with(part) };
    let kind = kinds.iter().find(|(part, _)| text.split(' ').any(|word| begins(word, part)));
    kind.map_or_else(|| format!("{service}:{operation}"), |(_, kind)| format!("{service}:{operation} {kind}"))
}

/// The death of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kill {
    /// At which mutating call since it was started; the first is 1.
    pub(crate) at: usize,
    /// Whether that call still takes effect.
    pub(crate) when: When,
}

/// When a process dies at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Before it is sent.
    Before,
    /// After it took effect, before the reply arrives.
    After,
}

/// Numbers that follow from a seed. Each label has a row of its own: calls that come in another order draw the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draws {
    seed: u64,
    drawn: BTreeMap<String, u64>,
}

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, drawn: BTreeMap::new() }
    }

    /// The next number of a label, from 0 up to 1.
    pub(crate) fn next(&mut self, label: &str) -> f64 {
        let count = self.drawn.entry(label.to_owned()).or_default();
        *count += 1;
        let mut hasher = DefaultHasher::new();
        (self.seed, label, *count).hash(&mut hasher);
        let bits = u32::try_from(hasher.finish() >> 32).unwrap_or_default();
        f64::from(bits) / (f64::from(u32::MAX) + 1.0)
    }

    /// One of so many.
    pub(crate) fn below(&mut self, label: &str, count: usize) -> usize {
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]
        let index = (self.next(label) * count as f64) as usize;
        index
    }

    /// A time between nothing and this: mostly short.
    pub(crate) fn lag(&mut self, label: &str, longest: Duration) -> Duration {
        let drawn = self.next(label);
        longest.mul_f64(drawn * drawn)
    }
}
