//! Tokens against signatures that botocore, which the AWS CLI signs with, made of the same inputs.

use super::*;
use crate::aws::sessions::Options;
use crate::aws::simulated::{Call, Reply, Simulated, identity, query_error, session};
use aws_config::{BehaviorVersion, Region};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use chrono::TimeZone as _;
use secrecy::ExposeSecret as _;
use std::collections::BTreeSet;

/// 2026-01-02T03:04:05Z.
fn moment() -> SystemTime {
    Utc.with_ymd_and_hms(2026, 1, 2, 3, 4, 5).unwrap().into()
}

fn signed(endpoint: &str, region: &str, cluster: &str, token: Option<&str>) -> String {
    let secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    let credentials = Credentials::new("AKIDEXAMPLE", secret, token.map(Into::into), None, "test");
    let request = TokenRequest { cluster: cluster.into(), region: region.into(), role: None };
    presign(endpoint, &request, &credentials, moment()).unwrap()
}

/// The address and its parameters, whose order does not matter.
fn parts(url: &str) -> (String, BTreeSet<String>) {
    let (address, query) = url.split_once('?').unwrap();
    (address.to_owned(), query.split('&').map(ToOwned::to_owned).collect())
}

#[test]
fn signatures_are_those_of_botocore() {
    // botocore 1.42.72, `RequestSigner.generate_presigned_url` as `aws eks get-token` calls it.
    let own = signed("https://sts.us-west-2.amazonaws.com", "us-west-2", "workload-cluster1", None);
    let theirs = "https://sts.us-west-2.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15\
        &X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEXAMPLE%2F20260102%2Fus-west-2%2Fsts%2Faws4_request\
        &X-Amz-Date=20260102T030405Z&X-Amz-SignedHeaders=host%3Bx-k8s-aws-id&X-Amz-Expires=60\
        &X-Amz-Signature=e3f01ecd9fa2861ff31bb4367285844bc8d0ea97ae5f8bedf4a2a826b6a58ee6";
    assert_eq!(parts(&own), parts(theirs));
    let own = signed("https://sts.cn-north-1.amazonaws.com.cn", "cn-north-1", "a_b-1", Some("FwoGZXIvYXdzEB+/w==token"));
    let theirs = "https://sts.cn-north-1.amazonaws.com.cn/?Action=GetCallerIdentity&Version=2011-06-15\
        &X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEXAMPLE%2F20260102%2Fcn-north-1%2Fsts%2Faws4_request\
        &X-Amz-Date=20260102T030405Z&X-Amz-SignedHeaders=host%3Bx-k8s-aws-id&X-Amz-Expires=60\
        &X-Amz-Security-Token=FwoGZXIvYXdzEB%2B%2Fw%3D%3Dtoken\
        &X-Amz-Signature=b32e77b7adaf96705527bac379bbcbb4b466cdc528d651507cc4766fca575522";
    assert_eq!(parts(&own), parts(theirs));
    let own = signed("http://127.0.0.1:4566", "us-west-2", "x", None);
    assert!(own.ends_with("f0f1cc612ed986b6b8235ef21399c7d6e8c839d3dc0ed1a25ce4ad7f5f49fb62"), "{own}");
}

/// Sessions over a simulated AWS, in a configuration whose STS is where AWS has it.
async fn sessions(handler: impl Fn(&Call) -> Reply + Send + Sync + 'static) -> (Simulated, Sessions) {
    let aws = Simulated::new(handler);
    let base = aws_config::defaults(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(Credentials::new("AKIAHUB", "secret", None, None, "test"))
        .load()
        .await;
    let connector = Some(SharedHttpClient::new(aws.clone()));
    (aws, Sessions::over(&base, Options { connector, ..Options::default() }))
}

fn request(region: &str, role: Option<RoleUsed>) -> TokenRequest {
    TokenRequest { cluster: "workload-cluster1".into(), region: region.into(), role }
}

fn role() -> RoleUsed {
    RoleUsed { arn: "arn:aws:iam::222222222222:role/ack".into(), external_id: Some("x-1".into()) }
}

fn url(token: &Token) -> String {
    let text = token.text.expose_secret().strip_prefix(PREFIX).unwrap();
    assert!(!text.contains('='), "without padding");
    String::from_utf8(URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap()
}

#[tokio::test]
async fn a_token_of_the_caller_calls_nobody_and_names_sts_of_the_clusters_region() {
    let (aws, sessions) = sessions(|call| panic!("unexpected call: {call:?}")).await;
    for (region, host) in [
        ("us-west-2", "https://sts.us-west-2.amazonaws.com/?"),
        ("us-east-1", "https://sts.us-east-1.amazonaws.com/?"),
        ("cn-north-1", "https://sts.cn-north-1.amazonaws.com.cn/?"),
        ("us-gov-west-1", "https://sts.us-gov-west-1.amazonaws.com/?"),
    ] {
        let token = sessions.token(&request(region, None)).await.unwrap();
        assert!(url(&token).starts_with(host), "{}", url(&token));
        assert!(url(&token).contains("Credential=AKIAHUB%2F"), "{}", url(&token));
        let minutes = (token.expires - Utc::now()).num_seconds();
        assert!((13 * 60..=14 * 60).contains(&minutes), "{minutes}");
        assert!(!format!("{token:?}").contains("k8s-aws"), "not by accident");
    }
    assert_eq!(aws.count("GetCallerIdentity"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_token_of_a_role_is_signed_by_its_session() {
    let (aws, sessions) = sessions(|call| match call.operation.as_str() {
        "AssumeRole" => session("ASIASPOKE", "2999-01-01T00:00:00Z"),
        other => panic!("unexpected call: {other}"),
    })
    .await;
    let token = sessions.token(&request("us-west-2", Some(role()))).await.unwrap();
    assert!(url(&token).contains("Credential=ASIASPOKE%2F") && url(&token).contains("X-Amz-Security-Token="));
    assert_eq!(aws.count("AssumeRole"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_role_that_is_refused_is_explained() {
    let (_, sessions) = sessions(|call| match call.operation.as_str() {
        "AssumeRole" => query_error(403, "AccessDenied", "not authorized to perform: sts:AssumeRole"),
        _ => identity("111111111111", "arn:aws:iam::111111111111:user/me"),
    })
    .await;
    let error = sessions.token(&request("us-west-2", Some(role()))).await.unwrap_err().to_string();
    assert!(error.contains("role/ack") && error.contains("user/me") && error.contains("x-1"), "{error}");
}

#[test]
fn a_token_ends_with_the_credentials_that_signed_it() {
    let soon = moment() + Duration::from_mins(3);
    assert_eq!(expires(moment(), Some(soon)).to_rfc3339(), "2026-01-02T03:07:05+00:00");
    assert_eq!(expires(moment(), Some(moment() + Duration::from_hours(1))).to_rfc3339(), "2026-01-02T03:18:05+00:00");
    assert_eq!(expires(moment(), None).to_rfc3339(), "2026-01-02T03:18:05+00:00");
}
