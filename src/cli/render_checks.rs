//! What the checks have found, as text.

use super::style::{Look, Style, clean};
use crate::engine::finding::{Finding, Severity};

/// Nothing for nothing; else a headline and each finding with its way out.
pub(super) fn lines(findings: &[Finding], style: Style) -> Vec<String> {
    if findings.is_empty() {
        return Vec::new();
    }
    let headline = style.paint(Look::Bold, "Checked before anything is changed:");
    [String::new(), headline].into_iter().chain(findings.iter().flat_map(|finding| of_finding(finding, style))).collect()
}

fn of_finding(finding: &Finding, style: Style) -> Vec<String> {
    let (marker, look) = match finding.severity {
        Severity::Refused => ("! refused", Look::Red),
        Severity::Warning => ("! warning", Look::Yellow),
        Severity::Note => ("? note", Look::Dim),
    };
    let marker = style.paint(look, format!("  {marker}"));
    let mut lines = vec![format!("{marker}  {}  {}", clean(finding.address.as_str()), clean(&finding.kind))];
    lines.push(format!("      {}", clean(&finding.text)));
    lines.extend(finding.way_out.iter().map(|way_out| format!("      {}", style.paint(Look::Dim, clean(way_out)))));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::identity::Address;

    #[test]
    fn findings_stand_with_their_way_out() {
        let finding = |severity, way_out: Option<&str>| Finding {
            severity,
            address: Address("EksCluster/demo/eksWithVpc/ekscluster".into()),
            kind: "Cluster".into(),
            account: "222222222222".into(),
            region: "us-west-2".into(),
            text: "EKS has no Kubernetes 1.99 in us-west-2".into(),
            way_out: way_out.map(str::to_owned),
        };
        let findings = [finding(Severity::Refused, Some("give one of 1.35, 1.34")), finding(Severity::Note, None)];
        insta::assert_snapshot!(lines(&findings, Style::new(false)).join("\n"), @"

        Checked before anything is changed:
          ! refused  EksCluster/demo/eksWithVpc/ekscluster  Cluster
              EKS has no Kubernetes 1.99 in us-west-2
              give one of 1.35, 1.34
          ? note  EksCluster/demo/eksWithVpc/ekscluster  Cluster
              EKS has no Kubernetes 1.99 in us-west-2
        ");
        assert!(lines(&[], Style::new(false)).is_empty());
    }
}
