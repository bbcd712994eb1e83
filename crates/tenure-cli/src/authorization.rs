//! The flags of `tenure serve` about authorization, by the names that kube-apiserver gives them.

use crate::limits::duration;
use clap::{Args, ValueEnum};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tenure_authorization::abac::AbacPolicies;
use tenure_server::{Authorization, AuthorizerOptions, WebhookOptions, read_configuration};
use tenure_transport::{Reloader, ReviewVersion};

/// How requests are authorized.
#[derive(Args, Clone, Default)]
pub struct AuthorizationFlags {
    /// How requests are authorized, as a list in the order in which they are asked [default: RBAC]; without TLS everyone may do
    /// everything.
    #[arg(long, value_enum, value_name = "MODES", value_delimiter = ',')]
    pub authorization_mode: Vec<AuthorizationMode>,
    /// An AuthorizationConfiguration: the authorizers in a file, instead of --authorization-mode and --authorization-webhook-*.
    #[arg(long, value_name = "FILE")]
    pub authorization_config: Option<PathBuf>,
    /// The policies of the mode ABAC: one JSON object per line.
    #[arg(long, value_name = "FILE")]
    pub authorization_policy_file: Option<PathBuf>,
    /// The kubeconfig of the mode Webhook: it names the server and the credentials.
    #[arg(long, value_name = "FILE")]
    pub authorization_webhook_config_file: Option<PathBuf>,
    /// The version of the reviews that the webhook is sent: v1 or v1beta1 [default: v1beta1].
    #[arg(long, value_name = "VERSION", value_parser = review_version)]
    pub authorization_webhook_version: Option<ReviewVersion>,
    /// How long a permission of the webhook counts [default: 5m].
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub authorization_webhook_cache_authorized_ttl: Option<Duration>,
    /// How long any other answer of the webhook counts [default: 30s].
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub authorization_webhook_cache_unauthorized_ttl: Option<Duration>,
}

/// An authorizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AuthorizationMode {
    /// Kubelets may read what the pods of their node refer to.
    #[value(name = "Node")]
    Node,
    /// By the stored roles and bindings.
    #[value(name = "RBAC")]
    Rbac,
    /// By the policies of a file.
    #[value(name = "ABAC")]
    Abac,
    /// By another server.
    #[value(name = "Webhook")]
    Webhook,
    /// Everyone may do everything.
    #[value(name = "AlwaysAllow")]
    AlwaysAllow,
    /// No one may do anything.
    #[value(name = "AlwaysDeny")]
    AlwaysDeny,
}

impl AuthorizationMode {
    /// Returns the name that the flag has for a mode.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

impl AuthorizationFlags {
    /// Returns how requests are authorized, or `None` for the default.
    pub fn authorization(&self) -> Result<Option<Authorization>, String> {
        if let Some(path) = &self.authorization_config {
            return self.configured(path).map(|authorizers| Some(Authorization::changing(authorizers)));
        }
        let modes = &self.authorization_mode;
        let repeated = modes.iter().enumerate().find(|(at, mode)| modes[..*at].contains(mode));
        if let Some((_, mode)) = repeated {
            return Err(format!("authorization-mode {} is named more than once", mode.name()));
        }
        for (mode, file, flag) in [
            (AuthorizationMode::Abac, &self.authorization_policy_file, "authorization-policy-file"),
            (
                AuthorizationMode::Webhook,
                &self.authorization_webhook_config_file,
                "authorization-webhook-config-file",
            ),
        ] {
            let name = mode.name();
            match (modes.contains(&mode), file) {
                (true, None) => return Err(format!("authorization-mode {name} needs --{flag}")),
                (false, Some(_)) => return Err(format!("--{flag} needs the authorization-mode {name}")),
                _ => {}
            }
        }
        if modes.is_empty() {
            return Ok(None);
        }
        let authorizers = modes.iter().map(|mode| self.authorizer(*mode));
        authorizers.collect::<Result<Vec<_>, _>>().map(|authorizers| Some(Authorization::new(authorizers)))
    }

    /// Has the configuration file read again when it changes.
    pub fn follow(&self, authorization: &Authorization, reloader: &mut Reloader) {
        let Some(path) = self.authorization_config.clone() else { return };
        let (flags, authorization, file) = (self.clone(), authorization.clone(), path.clone());
        reloader.add("authorization configuration", [path], move || {
            authorization.replace(flags.configured(&file)?)
        });
    }

    /// Reads the authorizers of a file.
    fn configured(&self, path: &Path) -> Result<Vec<AuthorizerOptions>, String> {
        let others = [
            !self.authorization_mode.is_empty(),
            self.authorization_webhook_config_file.is_some(),
            self.authorization_webhook_version.is_some(),
            self.authorization_webhook_cache_authorized_ttl.is_some(),
            self.authorization_webhook_cache_unauthorized_ttl.is_some(),
        ];
        if others.contains(&true) {
            return Err("--authorization-config cannot be used with --authorization-mode or --authorization-webhook-*".into());
        }
        let named = |problem: String| format!("{}: {problem}", path.display());
        let text =
            fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let authorizers = read_configuration(&text).map_err(|error| named(error.to_string()))?;
        let options = authorizers.into_iter().map(|authorizer| {
            match (authorizer.options, &self.authorization_policy_file) {
                (Some(options), _) => Ok(options),
                (None, Some(policy_file)) => Ok(AuthorizerOptions::Abac(Arc::new(policies(policy_file)?))),
                (None, None) => Err(named(format!(
                    "the authorizer {:?} of type ABAC needs --authorization-policy-file",
                    authorizer.name
                ))),
            }
        });
        options.collect()
    }

    fn authorizer(&self, mode: AuthorizationMode) -> Result<AuthorizerOptions, String> {
        let path = |path: &Option<PathBuf>| path.clone().unwrap_or_default();
        Ok(match mode {
            AuthorizationMode::Node => AuthorizerOptions::Node,
            AuthorizationMode::Rbac => AuthorizerOptions::Rbac,
            AuthorizationMode::AlwaysAllow => AuthorizerOptions::AlwaysAllow,
            AuthorizationMode::AlwaysDeny => AuthorizerOptions::AlwaysDeny,
            AuthorizationMode::Abac => {
                AuthorizerOptions::Abac(Arc::new(policies(&path(&self.authorization_policy_file))?))
            }
            AuthorizationMode::Webhook => {
                let mut webhook = WebhookOptions::new(path(&self.authorization_webhook_config_file));
                webhook.version = self.authorization_webhook_version.unwrap_or(webhook.version);
                webhook.authorized_ttl =
                    self.authorization_webhook_cache_authorized_ttl.unwrap_or(webhook.authorized_ttl);
                webhook.unauthorized_ttl =
                    self.authorization_webhook_cache_unauthorized_ttl.unwrap_or(webhook.unauthorized_ttl);
                AuthorizerOptions::Webhook(webhook)
            }
        })
    }
}

fn policies(path: &Path) -> Result<AbacPolicies, String> {
    let text =
        fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    AbacPolicies::parse(&text)
        .map_err(|error| format!("error reading policy file {}, {error}", path.display()))
}

/// Reads the version of reviews.
pub fn review_version(text: &str) -> Result<ReviewVersion, String> {
    ReviewVersion::parse(text).ok_or_else(|| "expected v1 or v1beta1".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        flags: AuthorizationFlags,
    }

    #[test]
    fn modes_and_their_files_belong_together() {
        let directory = tempfile::tempdir().unwrap();
        let policies = directory.path().join("policies");
        fs::write(&policies, "# none\n{\"user\": 1}\n").unwrap();
        let unreadable =
            format!("--authorization-mode ABAC --authorization-policy-file {}", policies.display());
        for (line, want) in [
            ("", Ok(None)),
            ("--authorization-mode Node,RBAC", Ok(Some("[Node, Rbac]"))),
            (
                "--authorization-mode=AlwaysDeny --authorization-mode=AlwaysAllow",
                Ok(Some("[AlwaysDeny, AlwaysAllow]")),
            ),
            ("--authorization-mode RBAC,Node,RBAC", Err("authorization-mode RBAC is named more than once")),
            ("--authorization-mode ABAC", Err("authorization-mode ABAC needs --authorization-policy-file")),
            (
                "--authorization-mode RBAC --authorization-policy-file a",
                Err("--authorization-policy-file needs the authorization-mode ABAC"),
            ),
            (
                "--authorization-mode Webhook",
                Err("authorization-mode Webhook needs --authorization-webhook-config-file"),
            ),
            (
                "--authorization-webhook-config-file a",
                Err("--authorization-webhook-config-file needs the authorization-mode Webhook"),
            ),
            (&unreadable, Err("line 2: {\"user\": 1}: user: expected a string, got 1")),
        ] {
            let line = Line::try_parse_from(["tenure"].into_iter().chain(line.split_whitespace())).unwrap();
            let authorization = line.flags.authorization();
            match (authorization, want) {
                (Ok(authorization), Ok(want)) => {
                    let shown = authorization.map(|options| format!("{:?}", options.authorizers()));
                    assert_eq!(shown.as_deref(), want);
                }
                (Err(error), Err(want)) => assert!(error.ends_with(want), "{error}"),
                (authorization, want) => panic!("{authorization:?}, expected {want:?}"),
            }
        }
    }

    #[test]
    fn a_webhook_has_the_defaults_of_kubernetes() {
        let line = "tenure --authorization-mode Webhook --authorization-webhook-config-file a \
                    --authorization-webhook-version v1 --authorization-webhook-cache-unauthorized-ttl 1m30s";
        let line = Line::try_parse_from(line.split_whitespace()).unwrap();
        let authorization = line.flags.authorization().unwrap().unwrap();
        let authorizers = authorization.authorizers();
        let [AuthorizerOptions::Webhook(webhook)] = &authorizers[..] else { panic!("{authorization:?}") };
        let want = WebhookOptions {
            version: ReviewVersion::V1,
            unauthorized_ttl: Duration::from_secs(90),
            ..WebhookOptions::new("a")
        };
        assert_eq!(*webhook, want);
        assert_eq!(want.authorized_ttl, Duration::from_secs(300));
        for line in
            ["--authorization-webhook-version v2", "--authorization-webhook-cache-authorized-ttl soon"]
        {
            let arguments = ["tenure"].into_iter().chain(line.split_whitespace());
            assert!(Line::try_parse_from(arguments).is_err(), "{line}");
        }
    }
}
