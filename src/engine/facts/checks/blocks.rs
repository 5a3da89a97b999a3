//! Address blocks of the networks of one run.

use super::warning;
use crate::engine::facts::Stage;
use crate::engine::facts::wants::{Vpc, Wants};
use crate::engine::finding::Finding;
use ipnet::IpNet;

/// Networks with a block in common can never be connected: said of the later one, once.
pub(super) fn check(wants: &[Wants], found: &mut [Vec<Finding>]) {
    for (index, one) in wants.iter().enumerate() {
        for vpc in &one.vpcs {
            let mut earlier = wants[..index].iter().flat_map(|other| &other.vpcs);
            let finding = earlier.find_map(|other| overlap(vpc, other).map(|block| shared(vpc, other, block)));
            found[index].extend(finding);
        }
    }
}

fn shared(vpc: &Vpc, other: &Vpc, block: IpNet) -> Finding {
    let text = format!("{block} is also a block of {}: the two networks can never be peered", other.object.address);
    warning(&vpc.object, text).way_out("give each network a block of its own, if they are ever to reach each other")
}

/// A block that overlaps with one of the other's, if one of the two is made now.
fn overlap(vpc: &Vpc, other: &Vpc) -> Option<IpNet> {
    let is_new = vpc.stage == Stage::New || other.stage == Stage::New;
    let overlaps = |block: &IpNet| other.blocks.iter().any(|taken| taken.contains(block) || block.contains(taken));
    vpc.blocks.iter().find(|block| is_new && overlaps(block)).copied()
}
