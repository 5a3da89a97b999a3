//! Clusters in a network that is there.

use super::{Facts, refused, warning};
use crate::aws::facts::{Network, Subnet};
use crate::engine::facts::question::Answer;
use crate::engine::facts::wants::Cluster;
use crate::engine::finding::Finding;
use std::collections::BTreeSet;

/// EKS makes its network interfaces in the subnets: it wants so many free addresses in each.
const WANTED: i32 = 6;
/// And recommends so many.
const RECOMMENDED: i32 = 16;

/// Where load balancers go: inside, and to the internet.
const INTERNAL: &str = "kubernetes.io/role/internal-elb";
const INTERNET: &str = "kubernetes.io/role/elb";

/// What a cluster finds in the subnets that it is given.
pub(super) fn cluster(cluster: &Cluster, facts: &mut Facts<'_>, found: &mut Vec<Finding>) {
    let Some(question) = cluster.network() else { return };
    let answer = facts.answer(&question, &cluster.object, "the network of the cluster", found);
    let Some(Answer::Network(network)) = answer else { return };
    let check = Check { cluster, network };
    found.extend(check.subnets());
    found.extend(check.vpc());
    found.extend(check.zones());
    found.extend(check.named());
}

struct Check<'a> {
    cluster: &'a Cluster,
    network: &'a Network,
}

impl Check<'_> {
    fn refused(&self, text: impl Into<String>, way_out: &str) -> Finding {
        refused(&self.cluster.object, text).way_out(way_out)
    }

    fn warning(&self, text: impl Into<String>, way_out: &str) -> Finding {
        warning(&self.cluster.object, text).way_out(way_out)
    }

    /// Those of the cluster's subnets that exist.
    fn existing(&self) -> impl Iterator<Item = (&str, &Subnet)> {
        let ids: BTreeSet<&String> = self.cluster.subnets.iter().collect();
        ids.into_iter().filter_map(|id| Some((id.as_str(), self.network.subnets.get(id)?)))
    }

    fn subnets(&self) -> Vec<Finding> {
        let mut found: Vec<Finding> = self.missing(&self.cluster.subnets).collect();
        for (id, subnet) in self.existing() {
            found.extend(self.free(id, subnet));
            if !subnet.hosts_eks {
                let text = format!("{id} is in {}, where EKS takes no subnets of a cluster", subnet.zone);
                found.push(self.refused(text, "give a subnet in another zone"));
            }
            if ![INTERNAL, INTERNET].iter().any(|tag| subnet.tags.contains_key(*tag)) {
                let text = format!("{id} has neither the tag {INTERNAL} nor {INTERNET}: load balancers do not find it");
                found.push(self.warning(text, "tag private subnets with the first, public ones with the second, value 1"));
            }
        }
        found
    }

    fn missing<'a>(&'a self, ids: &'a [String]) -> impl Iterator<Item = Finding> + 'a {
        let missing = ids.iter().filter(|id| !self.network.subnets.contains_key(*id));
        missing.map(|id| self.no_such(id))
    }

    fn no_such(&self, id: &str) -> Finding {
        let identity = &self.cluster.object.identity;
        let text = format!("there is no {id} in account {} and {}", identity.account, identity.region);
        self.refused(text, "give the id of one that is there")
    }

    fn free(&self, id: &str, subnet: &Subnet) -> Option<Finding> {
        let free = subnet.free_addresses;
        let text = format!("{id} has {free} free addresses");
        match free {
            ..WANTED => Some(self.refused(format!("{text}; EKS wants {WANTED} at least"), "give a larger subnet, or free some")),
            WANTED..RECOMMENDED => {
                Some(self.warning(format!("{text}; EKS recommends {RECOMMENDED}"), "give a larger subnet, or free some"))
            }
            _ => None,
        }
    }

    fn vpcs(&self) -> BTreeSet<&str> {
        self.existing().map(|(_, subnet)| subnet.vpc.as_str()).collect()
    }

    fn vpc(&self) -> Vec<Finding> {
        let vpcs = self.vpcs();
        if vpcs.len() > 1 {
            let list = vpcs.into_iter().collect::<Vec<_>>().join(", ");
            let text = format!("the subnets of the cluster are in several VPCs: {list}");
            return vec![self.refused(text, "give subnets of one VPC")];
        }
        let mut found = Vec::new();
        for id in vpcs {
            let Some(vpc) = self.network.vpcs.get(id) else { continue };
            let switches = [(vpc.dns_support, "DNS support"), (vpc.dns_hostnames, "DNS hostnames")];
            for (_, name) in switches.iter().filter(|(on, _)| !on) {
                let text = format!("{id} has no {name}: nodes would not find the cluster");
                found.push(self.refused(text, "switch it on (ModifyVpcAttribute)"));
            }
        }
        found
    }

    fn zones(&self) -> Option<Finding> {
        let zones: BTreeSet<&str> = self.existing().map(|(_, subnet)| subnet.zone.as_str()).collect();
        let all_there = self.existing().count() == self.cluster.subnets.iter().collect::<BTreeSet<_>>().len();
        let only = zones.first().filter(|_| all_there && zones.len() == 1)?;
        Some(self.refused(format!("all subnets of the cluster are in {only}; EKS wants two zones"), "give subnets in two zones"))
    }

    /// What the registration names must be there, and belong to the cluster's VPC.
    fn named(&self) -> Vec<Finding> {
        let named = &self.cluster.named;
        let vpcs = self.vpcs();
        let own = vpcs.first().filter(|_| vpcs.len() == 1);
        let mut found = Vec::new();
        for id in &named.vpcs {
            if !self.network.vpcs.contains_key(id) {
                found.push(self.no_such(id));
            } else if let Some(own) = own.filter(|own| *own != id) {
                found.push(
                    self.refused(format!("the cluster's subnets are in {own}, not in {id}"), "give the VPC of the subnets"),
                );
            }
        }
        for (id, public) in named.subnets.iter().filter(|(id, _)| !self.cluster.subnets.contains(id)) {
            let Some(subnet) = self.network.subnets.get(id) else {
                found.push(self.no_such(id));
                continue;
            };
            if let Some(own) = own.filter(|own| **own != subnet.vpc) {
                found.push(self.refused(format!("{id} is in {}, the cluster in {own}", subnet.vpc), "give a subnet of that VPC"));
            }
            if *public && !subnet.tags.contains_key(INTERNET) {
                let text = format!("{id} has no tag {INTERNET}: load balancers that face the internet do not find it");
                found.push(self.warning(text, "give it the tag, value 1"));
            }
        }
        found
    }
}
