//! States that are lost.

use super::super::check::{Faulty, nothing_is_there, settled, vanished};
use super::super::matrix::{late, made_good};
use super::*;
use crate::aws::tags::{ADDRESS, INSTANCE, LINEAGE};
use crate::engine::recovery::rebuild::How;
use crate::engine::report::RunReport;
use crate::state::memory::Trouble;

/// The state is lost, rebuilt, and applied.
fn rebuilt_and_applied(simulation: &mut Simulation) -> Option<Result<Vec<RunReport>, EngineError>> {
    simulation.lose_state();
    match simulation.rebuild(&Choice::default())? {
        Ok(_) => {}
        Err(error) if error.to_string().contains("nothing to rebuild") && nothing_is_there(simulation) => {}
        Err(error) => return Some(Err(error)),
    }
    simulation.apply()
}

#[test]
fn a_killed_apply_whose_state_is_lost_is_made_good() {
    let (done, photographs) = spoke(1).photographed(Simulation::apply);
    assert!(done.unwrap().unwrap().iter().all(|report| report.end == End::Done));
    made_good("state rebuild after an apply was killed", photographs, rebuilt_and_applied, settled);
}

#[test]
fn a_killed_destroy_whose_state_is_lost_is_made_good() {
    let mut simulation = spoke(1);
    simulation.apply_all();
    let (done, photographs) = simulation.photographed(|simulation| simulation.destroy_all(&[key_of("Spoke", NAME)]));
    assert!(done.unwrap().unwrap().iter().all(|report| report.end == End::Done));
    made_good("state rebuild after a destroy was killed", photographs, rebuilt_and_applied, settled);
}

/// The state is lost, rebuilt, and everything is destroyed.
fn rebuilt_and_destroyed(simulation: &mut Simulation) -> Option<Result<Vec<RunReport>, EngineError>> {
    simulation.lose_state();
    match simulation.rebuild(&Choice::default())? {
        Ok(_) => simulation.destroy_all(&[key_of("Spoke", NAME)]),
        Err(error) if error.to_string().contains("nothing to rebuild") && nothing_is_there(simulation) => Some(Ok(Vec::new())),
        Err(error) => Some(Err(error)),
    }
}

#[test]
fn what_was_killed_can_be_destroyed_although_its_state_is_lost() {
    let mut simulation = spoke(10);
    let (done, applied) = simulation.photographed(Simulation::apply);
    done.unwrap().unwrap();
    let (done, destroyed) = simulation.photographed(|simulation| simulation.destroy_all(&[key_of("Spoke", NAME)]));
    done.unwrap().unwrap();
    let some = applied.into_iter().step_by(4).chain(destroyed.into_iter().step_by(2)).collect();
    made_good("destroy after a state rebuild", some, rebuilt_and_destroyed, |simulation| vanished(simulation));
}

/// The graph that ships, at some calls: the small one above is killed at each.
#[test]
fn a_killed_apply_of_the_shipped_graph_whose_state_is_lost_is_made_good() {
    let mut simulation = Simulation::new(9, super::super::cluster("workload-cluster1", ""));
    simulation.aws.misbehave(late());
    let (done, photographs) = simulation.photographed(Simulation::apply);
    assert!(done.unwrap().unwrap().iter().all(|report| report.end == End::Done));
    let some = photographs.into_iter().step_by(9).collect();
    made_good("state rebuild of the shipped graph, every ninth call", some, rebuilt_and_applied, settled);
}

#[test]
fn a_lost_state_of_a_whole_cluster_is_rebuilt_as_it_was() {
    let name = "workload-cluster1";
    let mut simulation = Simulation::new(2, super::super::cluster(name, ""));
    simulation.aws.misbehave(late());
    simulation.apply_all();
    let before = simulation.records();
    simulation.lose_state();
    let reports = simulation.rebuild(&Choice::default()).unwrap().unwrap();
    assert_eq!(simulation.aws.changes(), 0);
    assert_eq!((&reports[0].missing, &reports[0].not_taken), (&Vec::new(), &Vec::new()));
    let after = simulation.records();
    assert_eq!(after.len(), before.len());
    for record in &before {
        let now = after.iter().find(|now| now.identity == record.identity).unwrap();
        assert_eq!(
            (&now.id, &now.address, &now.role, &now.applied, &now.dependencies, now.phase),
            (&record.id, &record.address, &record.role, &record.applied, &record.dependencies, record.phase)
        );
    }
    assert_eq!(settled(&mut simulation), Ok(Faulty::default()));
    simulation.apply_all();
    assert_eq!(simulation.aws.changes(), 0);
}

/// What the documents name no more is recorded all the same, so that the next apply removes it.
#[test]
fn what_has_left_the_documents_is_recorded_and_removed() {
    let mut simulation = spoke(3);
    simulation.apply_all();
    let association = simulation.record("association");
    // An address for which there was a resource once, and a registration of another name.
    let (address, registration) = (simulation.record("address"), simulation.record("registration"));
    let far = |object: &mut Object| {
        let mut tags = object.tags();
        tags.insert(ADDRESS.to_owned(), format!("Spoke/{NAME}/another"));
        object.set_tags(tags);
        object.body["allocationId"] = "eipalloc-0another".into();
    };
    simulation.copy(&address.id, "eipalloc-0another", far);
    let mut other = simulation.argocd.lock().unwrap().clusters[0].clone();
    (other["server"], other["name"]) = ("https://old.example.com".into(), "old".into());
    other["annotations"]["fleetctl/address"] = format!("Spoke/{NAME}/oldRegistration").into();
    simulation.argocd.lock().unwrap().clusters.push(other);
    simulation.text = text("staging", "*", false);
    simulation.lose_state();
    let reports = simulation.rebuild(&Choice::default()).unwrap().unwrap();
    let mut left: Vec<(&str, &str)> = reports[0]
        .found
        .iter()
        .filter(|found| found.how == How::LeftDocuments)
        .map(|found| (found.kind.as_str(), found.id.as_str()))
        .collect();
    left.sort_unstable();
    let expected = [
        ("ElasticIPAddress", "eipalloc-0another"),
        ("PodIdentityAssociation", association.id.as_str()),
        ("Secret", "https://old.example.com"),
    ];
    assert_eq!(left, expected, "{reports:?}");
    assert_eq!(reports[0].not_taken, []);
    // A destroy finds it all.
    let mut destroyed = simulation.fork();
    destroyed.destroy_spoke();
    assert_eq!(vanished(&destroyed), Ok(Faulty::default()));
    assert_eq!(destroyed.argocd.lock().unwrap().clusters.len(), 0);
    // And so does an apply.
    simulation.apply_all();
    assert_eq!(settled(&mut simulation), Ok(Faulty::default()));
    let clusters = simulation.argocd.lock().unwrap().clusters.clone();
    assert_eq!(clusters.iter().map(|one| &one["server"]).collect::<Vec<_>>(), [registration.id.as_str()]);
    simulation.destroy_spoke();
    assert_eq!(vanished(&simulation), Ok(Faulty::default()));
}

/// Two states have made objects for one instance: somebody chooses, and what is not chosen is named.
#[test]
fn of_several_lineages_one_is_chosen_and_the_others_are_named() {
    let mut simulation = spoke(4);
    simulation.apply_all();
    let (vpc, lineage) = (simulation.record("vpc"), simulation.states()[0].lineage.clone());
    simulation.copy(&vpc.id, "vpc-0theirs", |object| {
        let mut tags = object.tags();
        tags.insert(LINEAGE.to_owned(), "theirs".to_owned());
        object.set_tags(tags);
        object.body["vpcId"] = "vpc-0theirs".into();
    });
    simulation.lose_state();
    let open = simulation.rebuild(&Choice::default()).unwrap().unwrap_err().to_string();
    assert!(open.contains("--lineage") && open.contains(&lineage) && open.contains("theirs: 1 (vpc-0theirs)"), "{open}");
    let unknown = Choice { lineage: Some("nobodys".to_owned()), ..Choice::default() };
    let refused = simulation.rebuild(&unknown).unwrap().unwrap_err().to_string();
    assert!(refused.contains("nothing of") && refused.contains("nobodys"), "{refused}");
    assert_eq!(simulation.states().len(), 0);

    let mut theirs = simulation.fork();
    let chosen = Choice { lineage: Some(lineage.clone()), ..Choice::default() };
    let reports = simulation.rebuild(&chosen).unwrap().unwrap();
    let named: Vec<(&str, &str)> = reports[0].not_taken.iter().map(|one| (one.id.as_str(), one.reason.as_str())).collect();
    assert_eq!(named, [("vpc-0theirs", "it bears the lineage theirs; fleetctl orphans says what can be done")]);
    simulation.apply_all();
    assert_eq!(simulation.aws.changes(), 0);

    // The other way round, what bears names stands in the way, and says so.
    let chosen = Choice { lineage: Some("theirs".to_owned()), ..Choice::default() };
    let reports = theirs.rebuild(&chosen).unwrap().unwrap();
    assert_eq!(reports[0].found.iter().map(|found| found.id.as_str()).collect::<Vec<_>>(), ["vpc-0theirs"]);
    for record in simulation.records() {
        // EKS made one entry by itself, which bears no marks.
        assert!(record.adopted || reports[0].not_taken.iter().any(|one| one.id == record.id), "{}: {reports:?}", record.address);
    }
    let refused = theirs.apply().unwrap().unwrap_err();
    assert!(matches!(refused, EngineError::Refused(_)), "{refused}");
    assert_eq!(theirs.aws.changes(), 0);
}

/// A state that knows of a call that is open is not lost.
#[test]
fn nothing_is_rebuilt_over_calls_that_are_open() {
    let mut simulation = spoke(12);
    simulation.parallelism = 1;
    let (_, photographs) = simulation.photographed(Simulation::apply);
    let mut died = photographs.into_iter().next().unwrap().after;
    let refused = died.rebuild(&Choice::default()).unwrap().unwrap_err().to_string();
    assert!(refused.contains("left calls of Spoke/spoke1 in namespace argocd open"), "{refused}");
    died.apply_all();
    assert_eq!(settled(&mut died), Ok(Faulty::default()));
}

/// Of two that bear one address, one is named.
#[test]
fn of_two_with_one_address_one_is_kept() {
    let mut simulation = spoke(5);
    simulation.apply_all();
    let vpc = simulation.record("vpc");
    simulation.copy(&vpc.id, "vpc-0copy", |object| object.body["vpcId"] = "vpc-0copy".into());
    simulation.lose_state();
    let open = simulation.rebuild(&Choice::default()).unwrap().unwrap_err().to_string();
    assert!(open.contains("--keep") && open.contains("vpc-0copy"), "{open}");
    let reports = simulation.rebuild(&Choice { keep: vec![vpc.id.clone()], ..Choice::default() }).unwrap().unwrap();
    assert_eq!(reports[0].not_taken.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["vpc-0copy"]);
    // The copy that nothing uses goes with the next apply, and is shown for a while longer.
    simulation.apply_all();
    simulation.aws.sleep(std::time::Duration::from_mins(1));
    assert_eq!(settled(&mut simulation), Ok(Faulty::default()));
}

/// Whatever the disk takes of a rebuilt state: it is the whole, or the same command can be given again.
#[test]
fn a_rebuilt_state_is_written_as_a_whole() {
    let mut whole = spoke(6);
    whole.apply_all();
    let lineage = whole.states()[0].lineage.clone();
    for writes in 0.. {
        let mut simulation = whole.fork();
        simulation.lose_state();
        simulation.store.trouble(Trouble { failing: Some((writes, std::io::ErrorKind::Other)), ..Trouble::default() });
        let written = simulation.rebuild(&Choice::default()).unwrap();
        let is_done = written.is_ok();
        simulation.store.trouble(Trouble::default());
        if simulation.records().is_empty() {
            simulation.rebuild(&Choice::default()).unwrap().unwrap();
        }
        assert_eq!(simulation.states()[0].lineage, lineage);
        assert_eq!(simulation.records().len(), whole.records().len(), "after {writes} writes");
        if is_done {
            break;
        }
    }
}

/// A state that cannot be read is put aside, and nothing of it is lost, wherever that breaks off.
#[test]
fn a_damaged_state_is_put_aside_and_rebuilt() {
    let mut whole = spoke(11);
    whole.apply_all();
    let (lineage, key) = (whole.states()[0].lineage.clone(), key_of("Spoke", NAME).store_key());
    let mut objects = whole.store.objects();
    let damaged = b"{\"version\": 2, \"lineage\": ".to_vec();
    objects.insert(key.clone(), damaged.clone());
    objects.retain(|name, _| !name.contains("backup"));
    whole.store = MemoryStore::with(objects);
    let refused = whole.rebuild(&Choice::default()).unwrap().unwrap_err().to_string();
    assert!(refused.contains(&format!("--replace {key}")), "{refused}");
    let choice = Choice { replace: vec![key], ..Choice::default() };
    for writes in 0.. {
        let mut simulation = whole.fork();
        simulation.store.trouble(Trouble { failing: Some((writes, std::io::ErrorKind::Other)), ..Trouble::default() });
        let is_done = simulation.rebuild(&choice).unwrap().is_ok();
        if !is_done {
            simulation.rebuild(&choice).unwrap().unwrap();
        }
        assert_eq!((simulation.states().len(), &simulation.states()[0].lineage), (1, &lineage));
        assert_eq!(simulation.records().len(), 16, "after {writes} writes");
        let kept = simulation.store.objects().into_iter().any(|(name, bytes)| name.contains("damaged-") && bytes == damaged);
        assert!(kept, "after {writes} writes");
        if is_done {
            break;
        }
    }
}

/// Nothing bears the marks: that is said, after what may not be visible yet has had its time.
#[test]
fn where_nothing_is_there_is_nothing_to_rebuild() {
    let mut simulation = spoke(7);
    let refused = simulation.rebuild(&Choice::default()).unwrap().unwrap_err().to_string();
    assert!(refused.contains("nothing to rebuild"), "{refused}");
    assert!(simulation.aws.seconds() >= 60.0);
    // A state that knows something is not written over.
    simulation.apply_all();
    let refused = simulation.rebuild(&Choice::default()).unwrap().unwrap_err().to_string();
    assert!(refused.contains("16 objects are recorded of Spoke/spoke1"), "{refused}");
    // An object of another instance is none of this one's.
    let vpc = simulation.record("vpc");
    simulation.copy(&vpc.id, "vpc-0other", |object| {
        let mut tags = object.tags();
        let marks = [(LINEAGE, "another"), (INSTANCE, "argocd/Spoke/other"), (ADDRESS, "Spoke/other/vpc")];
        tags.extend(marks.map(|(key, value)| (key.to_owned(), value.to_owned())));
        object.set_tags(tags);
        object.body["vpcId"] = "vpc-0other".into();
    });
    simulation.lose_state();
    let reports = simulation.rebuild(&Choice::default()).unwrap().unwrap();
    assert!(!format!("{reports:?}").contains("vpc-0other"), "{reports:?}");
}

/// What has lost its marks is not taken for ours: it is named, and imported.
#[test]
fn what_has_lost_its_marks_is_imported_after_a_rebuild() {
    let mut simulation = spoke(8);
    simulation.apply_all();
    let (vpc, role) = (simulation.record("vpc"), simulation.record("role"));
    simulation.aws.meddle(|holdings, _| {
        let lost = holdings.objects.iter_mut().filter(|object| object.id == vpc.id || object.id == role.id);
        lost.for_each(super::import::unmark);
    });
    simulation.lose_state();
    let reports = simulation.rebuild(&Choice::default()).unwrap().unwrap();
    assert_eq!(reports[0].missing, std::slice::from_ref(&vpc.address));
    let not_taken: Vec<(&str, bool)> =
        reports[0].not_taken.iter().map(|one| (one.id.as_str(), one.reason.contains("fleetctl import"))).collect();
    assert_eq!(not_taken, [(role.id.as_str(), true)]);
    // No second VPC beside subnets that live.
    let refused = simulation.apply().unwrap().unwrap_err();
    assert!(matches!(refused, EngineError::Refused(_)), "{refused}");
    assert_eq!(simulation.aws.changes(), 0);
    for record in [&vpc, &role] {
        let report = simulation.import(record.address.as_str(), &record.id).unwrap().unwrap();
        assert_eq!((report.fields.len(), report.impossible.len()), (0, 0), "{report:?}");
    }
    simulation.apply_all();
    assert_eq!(simulation.aws.changes(), 0);
    assert_eq!(settled(&mut simulation), Ok(Faulty::default()));
}
