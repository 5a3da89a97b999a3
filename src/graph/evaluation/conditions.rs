//! The conditions and the state that kro computes for an instance (kro.md 5).

use serde_json::{Value, json};

/// Status of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Truth {
    True,
    False,
    /// Only after a definition could not be looked at, which does not happen here; kept for the roll-up's sake.
    Unknown,
}

impl Truth {
    fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) kind: &'static str,
    pub(super) status: Truth,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Condition {
    fn holds(kind: &'static str, reason: &'static str) -> Self {
        Self { kind, status: Truth::True, reason, message: String::new() }
    }

    /// Without a time of transition: evaluation reads no clock.
    fn to_json(&self) -> Value {
        json!({
            "type": self.kind,
            "status": self.status.as_str(),
            "reason": self.reason,
            "message": self.message,
            "observedGeneration": 1,
        })
    }
}

/// Ready: True if all are, False if one is, else Unknown; reason and message are those of the latest unhealthy one.
pub(super) fn roll_up(parts: &[Condition]) -> Condition {
    let worst = |truth: Truth| parts.iter().rev().find(|part| part.status == truth);
    match worst(Truth::False).or_else(|| worst(Truth::Unknown)) {
        None => Condition::holds("Ready", "Ready"),
        Some(part) => Condition { kind: "Ready", ..part.clone() },
    }
}

/// `conditions` and `state` of an instance. `waits_for` says what its resources are not ready for; `failed` that one of
/// them has an expression that can never have a value.
pub(super) fn of_instance(waits_for: Option<&str>, failed: bool) -> (Value, &'static str) {
    let resources = match waits_for {
        None => Condition::holds("ResourcesReady", "AllResourcesReady"),
        Some(message) => {
            Condition { kind: "ResourcesReady", status: Truth::False, reason: "NotReady", message: message.to_owned() }
        }
    };
    let parts =
        [Condition::holds("InstanceManaged", "Managed"), Condition::holds("GraphResolved", "Resolved"), resources];
    let state = match (failed, waits_for) {
        (true, _) => "ERROR",
        (false, None) => "ACTIVE",
        (false, Some(_)) => "IN_PROGRESS",
    };
    let all: Vec<Value> = parts.iter().chain([&roll_up(&parts)]).map(Condition::to_json).collect();
    (Value::Array(all), state)
}

#[cfg(test)]
pub(in crate::graph) mod tests {
    use super::*;

    /// The status of Ready, from those of its parts.
    pub(in crate::graph) fn ready(parts: &[&str]) -> &'static str {
        let condition = |status: &&str| Condition {
            kind: "Part",
            status: match *status {
                "True" => Truth::True,
                "False" => Truth::False,
                _ => Truth::Unknown,
            },
            reason: "",
            message: String::new(),
        };
        roll_up(&parts.iter().map(condition).collect::<Vec<_>>()).status.as_str()
    }

    #[test]
    fn false_wins_over_unknown() {
        assert_eq!(ready(&["True", "True", "True"]), "True");
        assert_eq!(ready(&["True", "Unknown", "False"]), "False");
        assert_eq!(ready(&["True", "True", "Unknown"]), "Unknown");
    }
}
