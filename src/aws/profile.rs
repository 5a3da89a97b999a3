//! What there is to be said of the profile in use when no credentials are found.

use super::error::text;
use aws_types::os_shim_internal::{Env, Fs};

/// The profile that the SDK uses.
pub(super) async fn describe_real() -> String {
    describe(&Fs::real(), &Env::real()).await
}

/// `the profile `foo` does not exist`, in words that go into a message.
#[expect(clippy::default_trait_access, reason = "the name of the type is deprecated, its place is another crate")]
async fn describe(files: &Fs, environment: &Env) -> String {
    let profiles = match aws_config::profile::load(files, environment, &Default::default(), None).await {
        Ok(profiles) => profiles,
        Err(error) => return text(&error),
    };
    let selected = profiles.selected_profile();
    let is_chosen = environment.get("AWS_PROFILE").is_ok_and(|name| !name.is_empty());
    match (profiles.get_profile(selected), is_chosen) {
        (Some(_), true) => format!("the profile `{selected}` of AWS_PROFILE holds none"),
        (None, true) => format!("the profile `{selected}` of AWS_PROFILE does not exist{}", others(profiles.profiles())),
        (Some(_), false) => format!("nothing is set in the environment, and the profile `{selected}` holds none"),
        (None, false) => {
            format!("nothing is set in the environment, and there is no profile `{selected}`{}", others(profiles.profiles()))
        }
    }
}

/// The profiles that there are.
fn others<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 5;
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    if names.is_empty() {
        return String::new();
    }
    let more = if names.len() > SHOWN { ", …" } else { "" };
    names.truncate(SHOWN);
    format!("; there are {}{more}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn described(config: &str, profile: &[(&str, &str)]) -> String {
        let variables: Vec<_> = [("HOME", "/home/me")].into_iter().chain(profile.iter().copied()).collect();
        let files: &[(&str, &str)] = if config.is_empty() { &[] } else { &[("/home/me/.aws/config", config)] };
        describe(&Fs::from_slice(files), &Env::from_slice(&variables)).await
    }

    #[tokio::test]
    async fn a_profile_that_is_not_there_is_named() {
        let config = "[profile one]\nregion = us-west-2\n[default]\nregion = us-west-2\n";
        let lines = [
            described("", &[]).await,
            described("", &[("AWS_PROFILE", "foo")]).await,
            described(config, &[]).await,
            described(config, &[("AWS_PROFILE", "foo")]).await,
            described(config, &[("AWS_PROFILE", "one")]).await,
        ];
        insta::assert_snapshot!(lines.join("\n"), @"
        nothing is set in the environment, and there is no profile `default`
        the profile `foo` of AWS_PROFILE does not exist
        nothing is set in the environment, and the profile `default` holds none
        the profile `foo` of AWS_PROFILE does not exist; there are default, one
        the profile `one` of AWS_PROFILE holds none
        ");
    }
}
