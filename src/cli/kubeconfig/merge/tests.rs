//! Kubeconfigs in, kubeconfigs out.

use super::*;
use proptest::prelude::*;

fn entry() -> Entry {
    Entry {
        arn: "arn:aws:eks:us-west-2:222222222222:cluster/one".into(),
        server: "https://one.example.com".into(),
        certificate_authority: "LS0tLS1CRUdJTg==".into(),
        context: "one".into(),
        exec: Exec {
            command: "fleetctl".into(),
            arguments: vec!["token".into(), "--cluster".into(), "one".into()],
            profile: None,
        },
    }
}

fn merge(text: &str, keep_current: bool) -> String {
    match merged(&SourceFile::new("config", text), &entry(), keep_current) {
        Ok(value) => yaml(&value).unwrap(),
        Err(problems) => problems.iter().map(told).collect::<Vec<_>>().concat(),
    }
}

fn told(problem: &Diagnostic) -> String {
    let line = problem.location.as_ref().map_or(0, |location| location.line);
    format!("config:{line}: {}\n", problem.message)
}

#[test]
fn an_empty_file_becomes_a_kubeconfig() {
    let text = merge("", false);
    assert_eq!(merge("# nothing yet\n", false), text);
    insta::assert_snapshot!(text, @r#"
    apiVersion: v1
    clusters:
    - cluster:
        certificate-authority-data: LS0tLS1CRUdJTg==
        server: https://one.example.com
      name: arn:aws:eks:us-west-2:222222222222:cluster/one
    contexts:
    - context:
        cluster: arn:aws:eks:us-west-2:222222222222:cluster/one
        user: arn:aws:eks:us-west-2:222222222222:cluster/one
      name: one
    kind: Config
    users:
    - user:
        exec:
          apiVersion: client.authentication.k8s.io/v1
          args:
          - token
          - --cluster
          - one
          command: fleetctl
          env: []
          installHint: "kubectl gets its tokens for this cluster from fleetctl, which is not found: put it into PATH, or run `fleetctl kubeconfig` again"
          interactiveMode: Never
          provideClusterInfo: false
      name: arn:aws:eks:us-west-2:222222222222:cluster/one
    current-context: one
    "#);
    assert_eq!(merge(&text, false), text, "once more changes nothing");
}

const OTHERS: &str = "\
kind: Config
apiVersion: v1
preferences: {colors: true}
x-own: [1, 1.5, null, 'yes', \"0777\", ~]
users:
- name: other
  user:
    token: secret
    exec: {command: aws, args: [eks, get-token], apiVersion: client.authentication.k8s.io/v1beta1, env: null}
clusters:
- cluster:
    server: https://other.example.com
    certificate-authority: ca.pem
    insecure-skip-tls-verify: false
    extensions:
    - extension: {last-update: \"Mon, 01 Jan 2026\", n: 1}
      name: x
  name: other
current-context: other
contexts:
- context: {cluster: other, user: other, namespace: \"on\"}
  name: other
";

#[test]
fn what_others_put_there_stays() {
    let before = documents::parse(&SourceFile::new("config", OTHERS)).unwrap().remove(0).to_json();
    let after = merged(&SourceFile::new("config", OTHERS), &entry(), true).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&before), keys(&after));
    for key in ["kind", "apiVersion", "preferences", "x-own", "current-context"] {
        assert_eq!(before[key], after[key]);
    }
    for list in ["clusters", "contexts", "users"] {
        assert_eq!(before[list][0], after[list][0], "{list}");
        assert_eq!(after[list].as_array().unwrap().len(), 2, "{list}");
    }
    let set = merged(&SourceFile::new("config", OTHERS), &entry(), false).unwrap();
    assert_eq!(set["current-context"], "one");
}

#[test]
fn an_entry_of_the_same_name_is_replaced_and_what_others_added_to_it_stays() {
    let text = "
apiVersion: v1
clusters:
- name: arn:aws:eks:us-west-2:222222222222:cluster/one
  cluster: {server: https://old.example.com, certificate-authority: old.pem, insecure-skip-tls-verify: true, proxy-url: http://proxy}
contexts:
- {name: one, context: {cluster: x, user: y, namespace: team-a}}
users:
- {name: 'arn:aws:eks:us-west-2:222222222222:cluster/one', user: {token: old}}
";
    insta::assert_snapshot!(merge(text, true), @r#"
    apiVersion: v1
    clusters:
    - name: arn:aws:eks:us-west-2:222222222222:cluster/one
      cluster:
        server: https://one.example.com
        proxy-url: http://proxy
        certificate-authority-data: LS0tLS1CRUdJTg==
    contexts:
    - name: one
      context:
        cluster: arn:aws:eks:us-west-2:222222222222:cluster/one
        user: arn:aws:eks:us-west-2:222222222222:cluster/one
        namespace: team-a
    users:
    - name: arn:aws:eks:us-west-2:222222222222:cluster/one
      user:
        exec:
          apiVersion: client.authentication.k8s.io/v1
          args:
          - token
          - --cluster
          - one
          command: fleetctl
          env: []
          installHint: "kubectl gets its tokens for this cluster from fleetctl, which is not found: put it into PATH, or run `fleetctl kubeconfig` again"
          interactiveMode: Never
          provideClusterInfo: false
    kind: Config
    "#);
}

#[test]
fn what_is_no_kubeconfig_is_told_with_its_line() {
    let lines: String = [
        "- a\n",
        "a: b: c\n",
        "apiVersion: v1\nkind: Pod\n",
        "apiVersion: v2\nclusters: {}\n",
        "users:\n- name: a\n  user: text\n- b\n",
        "apiVersion: v1\n---\napiVersion: v1\n",
        "apiVersion: v1\napiVersion: v1\n",
    ]
    .iter()
    .map(|text| merge(text, false))
    .collect();
    insta::assert_snapshot!(lines, @"
    config:1: a kubeconfig is a mapping, and this is a list
    config:1: mapping values are not allowed in this context
    config:2: `kind` of a kubeconfig is `Config`
    config:1: `apiVersion` of a kubeconfig is `v1`
    config:2: `clusters` is a list, and here it is a mapping
    config:3: `user` is a mapping, and here it is text
    config:4: an entry of `users` is a mapping, and this is text
    config:3: a kubeconfig is one document, and here a second one begins
    config:2: the key `apiVersion` is here twice: first at line 1, column 1, and again at line 2, column 1
    ");
}

#[test]
fn null_lists_are_empty_lists() {
    let text = merge("apiVersion: v1\nkind: Config\nclusters: null\ncontexts:\nusers: []\n", false);
    assert_eq!(text.matches("name: arn:aws").count(), 2, "{text}");
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~\n\té:#'\"]{0,20}".prop_map(Value::from),
        "(yes|no|on|off|y|n|true|null|~|0x1f|0o7|0777|1e3|1_000|12:30|2026-01-01|=|<<|\\.inf|-|\\? a|- a|# a|a: b)"
            .prop_map(Value::from),
        "[A-Za-z0-9+/]{100,140}=".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z.:/ -]{1,8}", inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back_as_it_was(value in values()) {
        let root = json!({"root": value});
        let text = yaml(&root).unwrap();
        let read = documents::parse(&SourceFile::new("config", &text));
        prop_assert!(read.is_ok(), "{}: {:?}", text, read);
        prop_assert_eq!(read.unwrap().remove(0).to_json(), root, "{}", text);
    }
}
