//! What all instances of a run want together, against what an account may have.

use super::{Facts, refused};
use crate::aws::facts::Quota;
use crate::engine::facts::Place;
use crate::engine::facts::question::{Answer, Question};
use crate::engine::facts::wants::{Object, Wants};
use crate::engine::finding::Finding;
use std::collections::BTreeMap;

/// Instances are served in turn: the findings are those of the first for whom not enough is left, and of all after it.
pub(super) fn check(wants: &[Wants], facts: &mut Facts<'_>, found: &mut [Vec<Finding>]) {
    let mut taken: BTreeMap<(Place, Quota), u64> = BTreeMap::new();
    for (one, findings) in wants.iter().zip(found) {
        for (quota, objects) in one.counted() {
            for (place, first, wanted) in by_place(&objects) {
                let others = taken.entry((place.clone(), quota)).or_default();
                let demand = Demand { quota, first, wanted, others: *others };
                *others += wanted;
                findings.extend(demand.check(&place, facts).unwrap_or_else(|notes| notes));
            }
        }
    }
}

/// The places of objects, with the first object and how many there are.
fn by_place<'a>(objects: &[&'a Object]) -> Vec<(Place, &'a Object, u64)> {
    let mut places: BTreeMap<Place, (&Object, u64)> = BTreeMap::new();
    for object in objects {
        places.entry(object.place()).or_insert((object, 0)).1 += 1;
    }
    places.into_iter().map(|(place, (first, count))| (place, first, count)).collect()
}

/// What one instance wants of one quota.
struct Demand<'a> {
    quota: Quota,
    first: &'a Object,
    wanted: u64,
    /// What other instances of the run get.
    others: u64,
}

impl Demand<'_> {
    /// What stands in its way; the error is what could not be found out.
    fn check(&self, place: &Place, facts: &mut Facts<'_>) -> Result<Vec<Finding>, Vec<Finding>> {
        let mut notes = Vec::new();
        let things = things(self.quota, 2);
        let mut count =
            |question: Question, what: &str, notes: &mut Vec<Finding>| match facts.answer(&question, self.first, what, notes) {
                Some(Answer::Count(count)) => Some(*count),
                _ => None,
            };
        let quota = count(Question::Quota(place.clone(), self.quota), &format!("the quota of {things}"), &mut notes);
        let used = count(Question::Used(place.clone(), self.quota), &format!("how many {things} there are"), &mut notes);
        let (Some(quota), Some(used)) = (quota, used) else { return Err(notes) };
        let left = quota.saturating_sub(used).saturating_sub(self.others);
        if self.wanted <= left { Ok(notes) } else { Ok(vec![self.exceeded(place, quota, used, left)]) }
    }

    fn exceeded(&self, place: &Place, quota: u64, used: u64, left: u64) -> Finding {
        let others = match self.others {
            0 => String::new(),
            count => format!(", {count} for other instances of this run"),
        };
        let text = format!(
            "{} {} wanted, {left} left in account {} and {}: the quota is {quota}, {used} in use{others}",
            self.wanted,
            things(self.quota, self.wanted),
            place.account,
            place.region,
        );
        let (service, code) = self.quota.code();
        let fewer = if self.others > 0 { ", or apply fewer instances at one time" } else { "" };
        let way_out = format!("ask for more (Service Quotas: {service} {code}), give back what is not needed{fewer}");
        refused(self.first, text).way_out(way_out)
    }
}

fn things(quota: Quota, count: u64) -> &'static str {
    match (quota, count) {
        (Quota::ElasticIpAddresses, 1) => "Elastic IP address",
        (Quota::ElasticIpAddresses, _) => "Elastic IP addresses",
        (Quota::Vpcs, 1) => "VPC",
        (Quota::Vpcs, _) => "VPCs",
    }
}
