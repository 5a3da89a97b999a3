//! What bears marks and is in no state, and what is recorded and not there.

use super::super::Photograph;
use super::*;
use crate::aws::tags::{ADDRESS, INSTANCE, LINEAGE};
use crate::engine::recovery::orphans::Why;

/// `why` and `id` of each.
fn told(report: &OrphanReport) -> Vec<(Why, &str)> {
    assert!(report.unreadable.is_empty(), "{report:?}");
    report.orphans.iter().map(|orphan| (orphan.why, orphan.id.as_str())).collect()
}

/// What an apply or a destroy has just made or removed is no orphan, nor what one that was killed will make good.
#[test]
fn nothing_is_told_of_what_is_under_way() {
    let mut simulation = spoke(1);
    let (done, mut photographs) = simulation.photographed(Simulation::apply);
    done.unwrap().unwrap();
    assert_eq!(told(&simulation.orphans()), []);
    let (_, destroyed) = simulation.photographed(|simulation| simulation.destroy_all(&[key_of("Spoke", NAME)]));
    photographs.extend(destroyed);
    assert_eq!(told(&simulation.orphans()), []);
    for Photograph { operation, text, before, after } in photographs {
        for (when, mut world) in [("before", before), ("after", after)] {
            let report = world.orphans();
            assert_eq!(told(&report), [], "killed {when} {operation} {text}: {report:?}");
            assert_eq!(world.aws.changes(), 0);
        }
    }
}

#[test]
fn orphans_of_each_sort_are_told_apart() {
    let mut simulation = spoke(2);
    simulation.apply_all();
    let (vpc, elastic, addon) = (simulation.record("vpc"), simulation.record("address"), simulation.record("addon"));
    let marked = |key: &'static str, value: &'static str, field: &'static str| {
        move |object: &mut Object| {
            let mut tags = object.tags();
            tags.insert(key.to_owned(), value.to_owned());
            object.set_tags(tags);
            object.body[field] = object.id.clone().into();
        }
    };
    simulation.copy(&vpc.id, "vpc-0copy", |object| object.body["vpcId"] = "vpc-0copy".into());
    simulation.copy(&vpc.id, "vpc-0theirs", marked(LINEAGE, "theirs", "vpcId"));
    simulation.copy(&elastic.id, "eipalloc-0left", marked(ADDRESS, "Spoke/spoke1/formerly", "allocationId"));
    simulation.copy(&vpc.id, "vpc-0other", |object| {
        marked(LINEAGE, "another", "vpcId")(object);
        marked(INSTANCE, "argocd/Spoke/other", "vpcId")(object);
    });
    simulation.aws.meddle(|holdings, now| {
        let addon = holdings.objects.iter_mut().find(|object| object.id == addon.id).unwrap();
        (addon.deleted, addon.gone) = (Some(now), Some(now));
    });
    let mut old = simulation.argocd.lock().unwrap().clusters[0].clone();
    (old["server"], old["name"]) = ("https://old.example.com".into(), "old".into());
    old["annotations"]["fleetctl/lineage"] = "another".into();
    simulation.argocd.lock().unwrap().clusters.push(old);

    let report = simulation.orphans();
    let mut found = told(&report);
    found.sort_unstable();
    let expected = [
        (Why::NoState, "https://old.example.com"),
        (Why::NoState, "vpc-0other"),
        (Why::NoState, "vpc-0theirs"),
        (Why::NotRecorded, "eipalloc-0left"),
        (Why::Duplicate, "vpc-0copy"),
        (Why::Gone, addon.id.as_str()),
    ];
    assert_eq!(found, expected, "{report:?}");
    let way_out = |id: &str| report.orphans.iter().find(|orphan| orphan.id == id).unwrap().way_out.as_str();
    assert!(way_out("vpc-0other").contains("fleetctl state rebuild"), "{}", way_out("vpc-0other"));
    assert!(way_out("vpc-0theirs").contains("the instance has a state of another lineage here"), "{}", way_out("vpc-0theirs"));
    assert!(way_out("eipalloc-0left").contains("aws ec2 release-address"), "{}", way_out("eipalloc-0left"));
    assert!(way_out("vpc-0copy").contains(&vpc.id), "{}", way_out("vpc-0copy"));
    assert_eq!(simulation.aws.changes(), 0);

    // Without a state everything that bears marks is one. One entry bears none: EKS made it.
    let records = simulation.records();
    simulation.lose_state();
    let report = simulation.orphans();
    for record in records.iter().filter(|record| record.id != addon.id && !record.adopted) {
        let why = report.orphans.iter().find(|orphan| orphan.id == record.id).map(|orphan| orphan.why);
        let expected = if record.id == vpc.id { Why::Duplicate } else { Why::NoState };
        assert_eq!(why, Some(expected), "{}", record.address);
    }
}

/// What lives in a cluster that bears no marks is seen all the same, where a state or the documents name the cluster.
#[test]
fn what_lives_in_somebodys_cluster_is_seen() {
    let mut simulation = spoke(3);
    simulation.apply_all();
    let (cluster, addon) = (simulation.record("cluster"), simulation.record("addon"));
    simulation.aws.meddle(|holdings, _| {
        holdings.objects.iter_mut().filter(|object| object.id == cluster.id).for_each(super::import::unmark);
    });
    let id = format!("{}|another", cluster.id);
    simulation.copy(&addon.id, &id, |object| {
        let mut tags = object.tags();
        tags.insert(ADDRESS.to_owned(), "Spoke/spoke1/formerly".to_owned());
        object.set_tags(tags);
        object.body["addonName"] = "another".into();
    });
    assert_eq!(told(&simulation.orphans()), [(Why::NotRecorded, id.as_str())]);
}
