//! Everything that bears fleetctl's marks in some accounts and regions.

use crate::aws::error::CallError;
use crate::kinds::kind::Readers;
use crate::kinds::marked::{self, Marked};
use crate::state::file::RoleUsed;
use std::collections::BTreeSet;

/// An account and region, and what reads it.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    /// 12 digits.
    pub(super) account: String,
    /// `us-west-2`.
    pub(super) region: String,
    /// The role that reaches it.
    pub(super) role: Option<RoleUsed>,
    /// What reads it.
    pub(super) readers: Readers,
}

/// Something that bears marks, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    /// What it is.
    pub(super) marked: Marked,
    /// Where it is. A role's region is that in which it was asked for; a registration has none.
    pub(super) account: String,
    /// See `account`.
    pub(super) region: String,
    /// The role that reaches it.
    pub(super) role: Option<RoleUsed>,
}

/// What could not be listed.
#[derive(Debug, Clone)]
pub(super) struct Unlisted {
    /// Where.
    pub(super) account: String,
    /// See `account`.
    pub(super) region: String,
    /// Why.
    pub(super) error: CallError,
}

/// What a look at several places gives. What cannot be read does not hide the rest.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// What bears marks.
    pub(super) found: Vec<Listed>,
    /// What could not be read.
    pub(super) unread: Vec<Unlisted>,
}

impl Listing {
    fn add(&mut self, spot: &Spot, answer: Result<Vec<Marked>, CallError>) {
        let Spot { account, region, role, .. } = spot;
        match answer {
            Ok(found) => self.found.extend(found.into_iter().map(|marked| Listed {
                marked,
                account: account.clone(),
                region: region.clone(),
                role: role.clone(),
            })),
            Err(error) => self.unread.push(Unlisted { account: account.clone(), region: region.clone(), error }),
        }
    }
}

/// Lists. IAM is asked once an account and Argo CD once; clusters of these names are looked into even where they bear no
/// marks themselves.
pub(super) async fn list(spots: &[Spot], clusters: &BTreeSet<String>) -> Listing {
    let mut listing = Listing::default();
    let mut accounts = BTreeSet::new();
    let mut regions = BTreeSet::new();
    for (number, spot) in spots.iter().enumerate() {
        // Two roles may reach one place.
        if !regions.insert((&spot.account, &spot.region)) {
            continue;
        }
        let readers = &spot.readers;
        let (ec2, eks) = tokio::join!(Box::pin(marked::of_ec2(readers)), Box::pin(marked::of_eks_clusters(readers, clusters)));
        listing.add(spot, ec2);
        listing.add(spot, eks);
        if accounts.insert(&spot.account) {
            listing.add(spot, Box::pin(marked::of_iam_roles(readers)).await);
        }
        if number == 0 {
            // Argo CD is in no account.
            let nowhere = Spot { account: String::new(), region: String::new(), ..spot.clone() };
            listing.add(&nowhere, marked::of_argocd(readers).await);
        }
    }
    listing
}
