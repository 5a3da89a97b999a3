//! Objects that somebody made by hand.

use super::super::check::{Faulty, settled, vanished};
use super::super::{HUB, Photograph};
use super::*;
use crate::aws::tags::{ADDRESS, INSTANCE, LINEAGE};
use crate::engine::plan::Action;
use chrono::TimeDelta;
use serde_json::{Value, json};

/// One object of each kind, which nobody knows to be fleetctl's; and what was recorded of it.
fn made_by_hand(seed: u64) -> (Simulation, Vec<Record>) {
    let mut simulation = spoke(seed);
    simulation.apply_all();
    let records = simulation.records();
    simulation.lose_state();
    simulation.aws.meddle(|holdings, _| holdings.objects.iter_mut().for_each(unmark));
    for cluster in &mut simulation.argocd.lock().unwrap().clusters {
        cluster["annotations"].as_object_mut().unwrap().retain(|key, _| !key.starts_with("fleetctl/"));
    }
    simulation.aws.sleep(std::time::Duration::from_mins(20));
    (simulation, records)
}

pub(super) fn unmark(object: &mut Object) {
    let mut tags = object.tags();
    tags.retain(|key, _| !key.starts_with("fleetctl:"));
    object.set_tags(tags);
}

fn address(name: &str) -> String {
    format!("Spoke/{NAME}/{name}")
}

fn refusal(simulation: &mut Simulation, name: &str, id: &str) -> String {
    let before = simulation.store.objects();
    let refused = simulation.import(&address(name), id).unwrap().unwrap_err().to_string();
    assert_eq!((simulation.aws.changes(), simulation.store.objects()), (0, before), "{refused}");
    refused
}

#[test]
fn a_cluster_made_by_hand_is_taken_in_kind_by_kind() {
    let (mut simulation, records) = made_by_hand(1);
    for record in &records {
        let report = simulation.import(record.address.as_str(), &record.id).unwrap().unwrap();
        assert!(report.marks && report.impossible.is_empty(), "{report:?}");
        // Nobody but fleetctl leaves the hash by which a registration's authority is compared.
        let later: Vec<&str> = report.fields.iter().map(|field| field.path.as_str()).collect();
        let expected: &[&str] = if report.kind == "Secret" { &["config.tlsClientConfig.caData"] } else { &[] };
        assert_eq!(later, expected, "{}", record.address);
        let changes = simulation.aws.changes();
        assert_eq!(changes, 1, "{}: its marks and nothing else", record.address);
    }
    let plan = simulation.plan().unwrap().remove(0);
    for change in &plan.changes {
        let expected = if change.identity.is_secret() { Action::Update } else { Action::None };
        assert_eq!(change.action, expected, "{change:?}");
    }
    simulation.apply_all();
    assert_eq!(simulation.aws.changes(), 1);
    assert_eq!(settled(&mut simulation), Ok(Faulty::default()));
    simulation.destroy_spoke();
    assert_eq!(vanished(&simulation), Ok(Faulty::default()));
    assert_eq!(simulation.argocd.lock().unwrap().clusters.len(), 0);
}

/// A run that is killed between marking and recording, or before: the same command finishes it, and so does an apply where
/// the marks are there.
#[test]
fn a_killed_import_is_made_good() {
    let (mut simulation, records) = made_by_hand(2);
    for record in &records {
        let (address, id) = (record.address.as_str(), record.id.as_str());
        let (done, photographs) = simulation.photographed(|simulation| simulation.import(address, id));
        done.unwrap().unwrap();
        assert_eq!(photographs.len(), 1, "{address}");
        for Photograph { before, after, .. } in photographs {
            for (mut world, marks) in [(before, true), (after, false)] {
                assert!(!world.records().iter().any(|known| known.id == id));
                let report = world.import(address, id).unwrap().unwrap();
                assert_eq!(report.marks, marks, "{address}");
                let state = world.states().remove(0);
                assert!(state.open.is_empty() && state.resources.iter().any(|known| known.id == id), "{state:?}");
            }
        }
    }
    simulation.apply_all();
    assert_eq!(settled(&mut simulation), Ok(Faulty::default()));
}

#[test]
fn an_apply_takes_what_a_killed_import_has_marked() {
    let (mut simulation, records) = made_by_hand(3);
    let mut worlds = Vec::new();
    for record in &records {
        let (_, photographs) = simulation.photographed(|simulation| simulation.import(record.address.as_str(), &record.id));
        worlds.extend(photographs.into_iter().map(|photograph| photograph.after));
    }
    // All but the last were recorded.
    let mut last = worlds.pop().unwrap();
    last.apply_all();
    assert_eq!(settled(&mut last), Ok(Faulty::default()));
    last.destroy_spoke();
    assert_eq!(vanished(&last), Ok(Faulty::default()));
}

/// What differs where AWS can change it is changed by the next apply; the rest is refused unless it is confirmed.
#[test]
fn what_differs_is_told_before_it_is_taken() {
    let (mut simulation, _) = made_by_hand(4);
    let (vpc, subnet) = simulation.aws.meddle(|holdings, _| {
        let find = |kind: &str| holdings.objects.iter().position(|object| object.kind == kind).unwrap();
        let (vpc, subnet) = (find("vpc"), find("subnet"));
        holdings.objects[vpc].body["attributes"]["EnableDnsHostnames"] = json!(false);
        (holdings.objects[vpc].id.clone(), holdings.objects[subnet].id.clone())
    });
    let report = simulation.import(&address("vpc"), &vpc).unwrap().unwrap();
    assert_eq!(report.fields.iter().map(|field| field.path.as_str()).collect::<Vec<_>>(), ["spec.enableDNSHostnames"]);
    assert_eq!(simulation.aws.changes(), 1);
    let change = simulation.plan().unwrap()[0].changes.iter().find(|change| change.address.as_str() == address("vpc")).cloned();
    assert_eq!(change.unwrap().action, Action::Update);
    let other = if simulation
        .aws
        .look(|holdings, _| holdings.objects.iter().any(|one| one.id == subnet && one.body["cidrBlock"] == "10.0.1.0/24"))
    {
        "back"
    } else {
        "front"
    };
    let refused = refusal(&mut simulation, other, &subnet);
    assert!(refused.contains("cidrBlock") && refused.contains(&format!("--confirm {}", address(other))), "{refused}");
    let report = simulation.import_as(&address(other), &subnet, true).unwrap().unwrap();
    assert!(!report.impossible.is_empty());
}

#[test]
fn what_is_not_there_or_not_meant_is_refused() {
    let (mut simulation, records) = made_by_hand(5);
    let id = |name: &str| records.iter().find(|record| record.address.as_str() == address(name)).unwrap().id.clone();
    let missing = refusal(&mut simulation, "vpc", "vpc-0123456789abcdef0");
    assert!(missing.contains("there is no VPC vpc-0123456789abcdef0 in account 222222222222, region us-west-2"), "{missing}");
    // As others might write them.
    for (name, wrong) in [
        ("vpc", id("front")),
        ("role", format!("arn:aws:iam::{HUB}:role/{}", id("role"))),
        ("addon", "eks-pod-identity-agent".to_owned()),
        ("entry", format!("{NAME}|hub-cluster-argocd-controller")),
        ("association", format!("{NAME}|external-secrets")),
        ("registration", NAME.to_owned()),
    ] {
        let refused = refusal(&mut simulation, name, &wrong);
        assert!(refused.contains(&format!("`{wrong}` is not the id of a")), "{refused}");
    }
    for (name, absent) in [
        ("role", "nobody".to_owned()),
        ("cluster", "nothing".to_owned()),
        ("addon", format!("{NAME}|vpc-cni")),
        ("addon", "nothing|eks-pod-identity-agent".to_owned()),
        ("entry", format!("{NAME}|arn:aws:iam::{HUB}:role/nobody")),
        ("association", format!("{NAME}|a-nothing")),
        ("registration", "https://nowhere.example.com".to_owned()),
        ("nat", "nat-0123".to_owned()),
    ] {
        let refused = refusal(&mut simulation, name, &absent);
        assert!(refused.contains("there is no ") && refused.contains(&absent), "{refused}");
    }
    let nowhere = refusal(&mut simulation, "nothing", &id("vpc"));
    assert!(nowhere.contains("no resource that is carried out has the address Spoke/spoke1/nothing"), "{nowhere}");

    // In another region, in another account.
    for change in [|object: &mut Object| object.region = "eu-west-1".into(), |object: &mut Object| object.account = HUB.into()] {
        let mut elsewhere = simulation.fork();
        let vpc = id("vpc");
        elsewhere.aws.meddle(|holdings, _| holdings.objects.iter_mut().filter(|object| object.id == vpc).for_each(change));
        let refused = refusal(&mut elsewhere, "vpc", &vpc);
        assert!(refused.contains("there is no VPC"), "{refused}");
    }
    // What the documents leave out.
    simulation.text = text("staging", "*", false);
    let left_out = refusal(&mut simulation, "association", &id("association"));
    assert!(left_out.contains("includeWhen"), "{left_out}");
}

#[test]
fn what_is_somebody_elses_or_of_no_use_is_refused() {
    let (mut simulation, records) = made_by_hand(6);
    let id = |name: &str| records.iter().find(|record| record.address.as_str() == address(name)).unwrap().id.clone();
    let tagged = |simulation: &Simulation, id: &str, tags: &[(&str, &str)]| {
        simulation.aws.meddle(|holdings, _| {
            let object = holdings.objects.iter_mut().find(|object| object.id == id).unwrap();
            let mut all = object.tags();
            all.extend(tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
            object.set_tags(all);
        });
    };
    let other = "argocd/Spoke/other";
    tagged(&simulation, &id("vpc"), &[(LINEAGE, "theirs"), (INSTANCE, other)]);
    let refused = refusal(&mut simulation, "vpc", &id("vpc"));
    assert!(refused.contains("belongs to argocd/Spoke/other, lineage theirs"), "{refused}");
    // The lineage was taken off.
    tagged(&simulation, &id("role"), &[(INSTANCE, other)]);
    let refused = refusal(&mut simulation, "role", &id("role"));
    assert!(refused.contains("bears the mark of argocd/Spoke/other"), "{refused}");

    simulation.aws.meddle(|holdings, now| {
        for object in &mut holdings.objects {
            if object.kind == "addon" {
                (object.deleted, object.gone) = (Some(now), Some(now + TimeDelta::hours(1)));
            }
            if object.kind == "natgateway" {
                object.body["failureCode"] = json!("InsufficientFreeAddressesInSubnet");
            }
        }
    });
    let refused = refusal(&mut simulation, "addon", &id("addon"));
    assert!(refused.contains("is being deleted"), "{refused}");
    let refused = refusal(&mut simulation, "nat", &id("nat"));
    assert!(refused.contains("has failed (InsufficientFreeAddressesInSubnet") && refused.contains("remove it"), "{refused}");

    // What is recorded of another instance, or of this one at another address.
    simulation.import(&address("address"), &id("address")).unwrap().unwrap();
    let refused = refusal(&mut simulation, "address", &id("address"));
    assert!(refused.contains("is recorded already: it is eipalloc-"), "{refused}");
    let front = id("front");
    simulation.import(&address("front"), &front).unwrap().unwrap();
    let refused = refusal(&mut simulation, "back", &front);
    assert!(refused.contains(&format!("{front} is recorded already, as Spoke/spoke1/front")), "{refused}");
    let mine = std::mem::replace(&mut simulation.text, text("staging", "*", true).replace("name: spoke1\n", "name: spoke2\n"));
    let refused = simulation.import("Spoke/spoke2/front", &front).unwrap().unwrap_err().to_string();
    assert!(refused.contains("is recorded already, as Spoke/spoke1/front in argocd/Spoke.spoke1.json"), "{refused}");
    simulation.text = mine;

    // Two registrations of one name.
    let mut twin = simulation.argocd.lock().unwrap().clusters[0].clone();
    twin["server"] = json!("https://twin.example.com");
    simulation.argocd.lock().unwrap().clusters.push(twin);
    simulation.import(&address("cluster"), &id("cluster")).unwrap().unwrap();
    let refused = refusal(&mut simulation, "registration", &id("registration"));
    assert!(refused.contains("Argo CD has another cluster of the name spoke1"), "{refused}");
}

/// An object that bears our lineage and the address of another resource gets the right one.
#[test]
fn what_is_ours_under_another_address_gets_the_new_one() {
    let (mut simulation, records) = made_by_hand(7);
    let vpc = records.iter().find(|record| record.identity.kind == "VPC").unwrap();
    simulation.import(&address("vpc"), &vpc.id).unwrap().unwrap();
    let lineage = simulation.states()[0].lineage.clone();
    let elastic = records.iter().find(|record| record.identity.kind == "ElasticIPAddress").unwrap().id.clone();
    simulation.aws.meddle(|holdings, _| {
        let object = holdings.objects.iter_mut().find(|object| object.id == elastic).unwrap();
        let mut tags = object.tags();
        let marks = [(LINEAGE, lineage.as_str()), (INSTANCE, "argocd/Spoke/spoke1"), (ADDRESS, "Spoke/spoke1/formerly")];
        tags.extend(marks.map(|(key, value)| (key.to_owned(), value.to_owned())));
        object.set_tags(tags);
    });
    assert!(simulation.import(&address("address"), &elastic).unwrap().unwrap().marks);
    let tags = simulation.aws.look(|holdings, _| holdings.objects.iter().find(|object| object.id == elastic).unwrap().tags());
    assert_eq!(tags.get(ADDRESS), Some(&address("address")));
}

/// Calls that a killed apply left open: what is imported may not be what one of them makes, and the others are resolved.
#[test]
fn what_a_killed_apply_left_open_is_looked_at_first() {
    let mut simulation = spoke(8);
    simulation.parallelism = 1;
    let (_, photographs) = simulation.photographed(Simulation::apply);
    let died = photographs.into_iter().find(|photograph| photograph.operation == "CreateVpc").unwrap();
    for mut world in [died.before, died.after] {
        let refused = world.import(&address("vpc"), "vpc-0123456789abcdef0").unwrap().unwrap_err().to_string();
        assert!(refused.contains("has begun to make Spoke/spoke1/vpc"), "{refused}");
        // Made by hand meanwhile.
        world.aws.meddle(|holdings, now| {
            let body: Value = json!({
                "allocationId": "eipalloc-0hand", "publicIp": "203.0.113.9", "domain": "vpc", "publicIpv4Pool": "amazon",
                "networkBorderGroup": "us-west-2", "tagSet": [],
            });
            holdings.objects.push(Object {
                kind: "elastic-ip",
                account: super::super::WORKLOAD.to_owned(),
                region: "us-west-2".to_owned(),
                id: "eipalloc-0hand".to_owned(),
                body,
                made: now,
                shown: now,
                usable: now,
                ready: now,
                deleted: None,
                gone: None,
                implicit: false,
                busy: None,
                lingers: None,
                lingers_by_tags: None,
            });
        });
        world.import(&address("address"), "eipalloc-0hand").unwrap().unwrap();
        assert!(world.states()[0].open.is_empty());
        world.apply_all();
        assert_eq!(settled(&mut world), Ok(Faulty::default()));
        assert_eq!(world.record("address").id, "eipalloc-0hand");
        world.destroy_spoke();
        assert_eq!(vanished(&world), Ok(Faulty::default()));
    }
}

/// A reply that is lost leaves the call open; the same command again goes on from there.
#[test]
fn an_import_whose_replies_are_lost_is_given_again() {
    let (mut simulation, records) = made_by_hand(9);
    simulation.aws.misbehave(crate::aws::simulated::faults::Faults { lost: 0.15, throttled: 0.05, ..late() });
    let mut again = 0;
    for record in &records {
        while let Err(error) = simulation.import(record.address.as_str(), &record.id).unwrap() {
            again += 1;
            assert!(again < 40, "{error}");
        }
    }
    assert!(again > 0, "no reply was lost");
    simulation.aws.misbehave(late());
    simulation.apply_all();
    assert_eq!(settled(&mut simulation), Ok(Faulty::default()));
}

/// A part of a network that is imported alone is never moved into a network that is yet to be made.
#[test]
fn what_is_imported_alone_stays_where_it_is() {
    let (mut simulation, records) = made_by_hand(10);
    simulation.text = text("staging", "*", true).replace("name: spoke1\n", "name: spoke2\n");
    for kind in ["gateway", "outward", "front", "nat"] {
        let id = &records.iter().find(|record| record.address.as_str() == address(kind)).unwrap().id;
        let mut alone = simulation.fork();
        let address = format!("Spoke/spoke2/{kind}");
        alone.import(&address, id).unwrap().unwrap();
        let refused = alone.apply().unwrap().unwrap_err();
        let EngineError::Refused(plan) = refused else { panic!("{kind}: {refused}") };
        let change = plan.changes.iter().find(|change| change.address.as_str() == address).unwrap();
        assert_eq!(change.action, Action::Refused, "{change:?}");
        assert_eq!(alone.aws.changes(), 0);
    }
}

/// Between the look and the answer to the question, somebody else marks the object.
#[test]
fn what_is_marked_by_somebody_else_meanwhile_is_theirs() {
    let (mut simulation, records) = made_by_hand(11);
    for record in &records {
        let mut simulation = simulation.fork();
        let (documents, aws, argocd) = (documents(&simulation.text), simulation.aws.clone(), simulation.argocd.clone());
        let (address, id) = (record.address.to_string(), record.id.clone());
        let refused = simulation.run(|engine| {
            Box::pin(async move {
                let work = engine.work(&documents, &DEFINITIONS, &used()).await.unwrap().remove(0);
                let import = Box::pin(engine.import(work, &address, &id, false)).await.unwrap();
                aws.meddle(|holdings, _| {
                    for object in holdings.objects.iter_mut().filter(|object| object.id == id) {
                        let mut tags = object.tags();
                        tags.insert(LINEAGE.to_owned(), "theirs".to_owned());
                        object.set_tags(tags);
                    }
                });
                for cluster in argocd.lock().unwrap().clusters.iter_mut().filter(|cluster| cluster["server"] == id.as_str()) {
                    cluster["annotations"]["fleetctl/lineage"] = json!("theirs");
                }
                import.write().await.unwrap_err().to_string()
            })
        });
        let refused = refused.unwrap();
        assert!(refused.contains("was changed by somebody meanwhile"), "{}: {refused}", record.address);
        assert_eq!((simulation.aws.changes(), simulation.records().len()), (0, 0));
    }
    simulation.apply().unwrap().unwrap_err();
}
