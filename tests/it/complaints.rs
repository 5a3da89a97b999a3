//! What users of other tools have complained of, as tests. Where another test shows it already, it is that one:
//!
//! | complaint | shown by |
//! |---|---|
//! | C01 a create that works and a read that fails lose the object | [`what_cannot_be_read_after_it_was_made_is_recorded_and_not_made_twice`] |
//! | C05 a run that is interrupted blocks the next: A it is being created, B it is not there, C there are two | `crash::killed_while_the_cluster_is_being_created`; the rows `Before` of `crash_sample`; `kinds::ec2::tests::several_objects_with_our_marks_are_an_error` and `copies` |
//! | C08 what was removed is not noticed; what may not be read is taken for gone | `engine::planner::tests::what_was_removed_outside_is_made_anew`, `outside`, [`what_may_not_be_read_is_not_taken_for_gone`] |
//! | C09 credentials end in mid-run | `identity::expired_credentials_are_refused`, `aws::sessions::tests` (renewal); not with a run of an hour |
//! | C10 a cluster in the wrong account | `identity::no_way_into_the_account_is_refused`, `aws::identity::tests` |
//! | C12 one name in two regions, IAM names collide | `engine::ownership::tests::one_name_in_aws_is_one_object_whatever_it_is_called_in_the_documents`, [`one_name_in_two_regions_is_refused_before_anything_is_made`] |
//! | C13 what is half made cannot be removed; zones of another region | [`what_is_half_made_is_removed`], `engine::planner::tests::zones_that_the_target_does_not_have_are_refused` |
//! | C17 a new role cannot be assumed yet | `kinds::calls::a_role_that_eks_does_not_see_yet_passes`, `kinds::shared::tests::only_the_listed_messages_pass` |
//! | C29 an access entry is there already | `identity::the_creators_own_access_entry_is_adopted`, `kinds::calls::the_creators_entry_is_taken_over_with_its_policy` |
//! | C33 a destroy that left something says that it is done | `kinds::ec2::calls::what_stands_in_the_way_is_named_after_patience`, `crash_sample::a_destroy_that_is_killed_at_every_fifth_call_is_finished_by_the_next` |

use crate::destroy::without_deleted;
use crate::support::World;
use crate::support::calls::count;
use serde_json::{Value, json};

const APPLY: [&str; 3] = ["apply", "cluster.yaml", "--yes"];

fn denied(operation: &str, times: usize) -> Value {
    json!({
        "service": "ec2", "operation": operation, "count": times, "code": "UnauthorizedOperation", "status": 403,
        "message": "You are not authorized to perform this operation.",
    })
}

/// C01.
#[test]
fn what_cannot_be_read_after_it_was_made_is_recorded_and_not_made_twice() {
    let world = World::new();
    world.faults(&[denied("DescribeNatGateways", 1)]);
    world.fleetctl(&APPLY).expect(1);
    let state = world.state();
    let is_gateway = |record: &&Value| record["identity"]["kind"] == "NATGateway";
    let gateways: Vec<&Value> = state["resources"].as_array().unwrap().iter().filter(is_gateway).collect();
    assert!(
        !gateways.is_empty() && gateways.iter().all(|gateway| gateway["id"].as_str().unwrap().starts_with("nat-")),
        "{state}"
    );
    world.fleetctl(&APPLY).expect(0);
    let accepted: Vec<_> = world.aws.mutating().into_iter().filter(|call| call.status < 300).collect();
    let made = state["resources"].as_array().unwrap().iter().filter(is_gateway).count();
    assert_eq!(count(&accepted).get("ec2:CreateNatGateway"), Some(&made), "none twice");
    crate::crash::expect_one_of_everything(&world);
}

/// C08, the variant.
#[test]
fn what_may_not_be_read_is_not_taken_for_gone() {
    let world = World::new();
    world.fleetctl(&APPLY).expect(0);
    world.aws.forget();
    world.faults(&[denied("DescribeSubnets", 2)]);
    for arguments in [&["plan", "cluster.yaml"][..], &APPLY] {
        let ended = world.fleetctl(arguments).expect(1);
        let all = format!("{}{}", ended.stdout, ended.stderr);
        assert!(all.contains("UnauthorizedOperation") && !all.contains("to create"), "{all}");
    }
    assert_eq!(world.aws.mutating(), []);
}

/// C12.
#[test]
fn one_name_in_two_regions_is_refused_before_anything_is_made() {
    let world = World::new();
    let here = world.instance("workload-cluster1", "");
    let there = here.replacen("name: workload-cluster1", "name: elsewhere", 1).replace("region: us-west-2", "region: us-east-1");
    world.write("cluster.yaml", &format!("{here}---\n{there}"));
    let refused = world.fleetctl(&APPLY).expect(4);
    assert!(refused.stderr.contains("would both make Role workload-cluster1-"), "{}", refused.stderr);
    assert_eq!(world.aws.mutating(), []);
}

/// C13.
#[test]
fn what_is_half_made_is_removed() {
    let world = World::new();
    let before = without_deleted(world.inventory(&world.workload));
    world.aws.trap("CreateInternetGateway");
    let mut child = world.spawn(&APPLY);
    world.aws.wait_sprung();
    child.kill().unwrap();
    child.wait().unwrap();
    world.fleetctl(&["destroy", "EksCluster/workload-cluster1", "--yes"]).expect(0);
    assert_eq!(without_deleted(world.inventory(&world.workload)), before, "nothing is left");
}
