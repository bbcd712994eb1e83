//! The flags of `tenure serve` about external issuers, by the names that kube-apiserver gives them.

use clap::Args;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};
use tenure_authentication::oidc::{
    ALGORITHMS, AnonymousConfig, AuthenticationConfiguration, ClaimMappings, ClaimValidationRule, Issuer,
    JwtAuthenticators, JwtConfig, PrefixedClaimOrExpression,
};
use tenure_server::IdentityOptions;
use tenure_transport::{Reloadable, Reloader};

/// How long a changed configuration may take to find its issuers before it is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// The external issuers whose tokens are accepted.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "OpenID Connect")]
pub struct OidcFlags {
    /// An AuthenticationConfiguration: issuers with their claims, and anonymous requests. Instead of the --oidc flags.
    #[arg(long, value_name = "FILE")]
    pub authentication_config: Option<PathBuf>,
    /// The address of an OpenID Connect issuer whose tokens are accepted; https only.
    #[arg(long, value_name = "URL", requires = "oidc_client_id")]
    pub oidc_issuer_url: Option<String>,
    /// The audience that tokens of the issuer must have.
    #[arg(long, value_name = "ID", requires = "oidc_issuer_url")]
    pub oidc_client_id: Option<String>,
    /// The authorities of the issuer's certificate, in PEM; by default those of the system.
    #[arg(long, value_name = "FILE", requires = "oidc_issuer_url")]
    pub oidc_ca_file: Option<PathBuf>,
    /// The claim that is the user name [default: sub].
    #[arg(long, value_name = "CLAIM", requires = "oidc_issuer_url")]
    pub oidc_username_claim: Option<String>,
    /// The prefix of user names: by default the issuer and #, except for the claim email; - means no prefix.
    #[arg(long, value_name = "PREFIX", requires = "oidc_issuer_url", allow_hyphen_values = true)]
    pub oidc_username_prefix: Option<String>,
    /// The claim that has the groups, a string or a list.
    #[arg(long, value_name = "CLAIM", requires = "oidc_issuer_url")]
    pub oidc_groups_claim: Option<String>,
    /// The prefix of group names.
    #[arg(long, value_name = "PREFIX", requires = "oidc_issuer_url")]
    pub oidc_groups_prefix: Option<String>,
    /// A claim that tokens must have, with its value, as KEY=VALUE; may be repeated.
    #[arg(long, value_name = "CLAIM", requires = "oidc_issuer_url")]
    pub oidc_required_claim: Vec<String>,
    /// The algorithms that tokens may be signed with [default: RS256].
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "oidc_issuer_url")]
    pub oidc_signing_algs: Vec<String>,
}

impl OidcFlags {
    /// Sets the options of a server, and has files read again when they change. Must be called within a Tokio runtime.
    /// `anonymous_flag` is the flag `--anonymous-auth`, if it is given.
    pub fn apply(
        &self,
        anonymous_flag: Option<bool>,
        identity: &mut IdentityOptions,
        reloader: &mut Reloader,
    ) -> Result<(), String> {
        if let Some(enabled) = anonymous_flag {
            identity.anonymous = AnonymousConfig { enabled, ..AnonymousConfig::default() };
        }
        let own = identity.tokens.issuers.clone();
        match (&self.authentication_config, &self.oidc_issuer_url) {
            (None, None) => Ok(()),
            (Some(_), Some(_)) => {
                Err("--authentication-config and the --oidc flags exclude each other; write the issuer into the file".into())
            }
            (Some(path), None) => {
                let config = file(path)?;
                let anonymous = config.anonymous.clone();
                if anonymous.is_some() && anonymous_flag.is_some() {
                    return Err(format!(
                        "{}: anonymous: --anonymous-auth cannot be set together with it; remove one",
                        path.display()
                    ));
                }
                if let Some(anonymous) = &anonymous {
                    identity.anonymous = anonymous.clone();
                }
                let path = path.clone();
                let read = move || {
                    let config = file(&path)?;
                    // Whether requests need credentials is decided once.
                    if config.anonymous != anonymous {
                        let path = path.display();
                        return Err(format!("{path}: anonymous: changed from the initial file; restart the server"));
                    }
                    Ok(config)
                };
                let algorithms = ALGORITHMS.map(String::from).to_vec();
                self.follow(config, algorithms, own, read, identity, reloader)
            }
            (None, Some(_)) => {
                let algorithms = match self.oidc_signing_algs.is_empty() {
                    true => vec!["RS256".to_string()],
                    false => self.oidc_signing_algs.clone(),
                };
                let flags = self.clone();
                self.follow(self.configuration()?, algorithms, own, move || flags.configuration(), identity, reloader)
            }
        }
    }

    /// Starts the authenticators of a configuration, and replaces them when `read` returns another one.
    fn follow(
        &self,
        config: AuthenticationConfiguration,
        algorithms: Vec<String>,
        own: Vec<String>,
        read: impl Fn() -> Result<AuthenticationConfiguration, String> + Send + 'static,
        identity: &mut IdentityOptions,
        reloader: &mut Reloader,
    ) -> Result<(), String> {
        let start = move |config: &AuthenticationConfiguration| {
            let started = JwtAuthenticators::start(config, &algorithms, &own);
            started.map_err(|error| format!("invalid authentication configuration: {error}"))
        };
        let current = Reloadable::new(start(&config)?);
        identity.jwt = Some(current.clone());
        let newest = Arc::new(AtomicU64::new(0));
        let files = self.authentication_config.iter().chain(&self.oidc_ca_file).cloned();
        reloader.add("authentication configuration", files, move || {
            let next = start(&read()?)?;
            let number = newest.fetch_add(1, SeqCst) + 1;
            let (current, newest) = (current.clone(), newest.clone());
            tokio::spawn(async move {
                // Tokens of the issuers known so far are accepted until those of the new configuration can be.
                match next.ready(PATIENCE).await {
                    Ok(()) if newest.load(SeqCst) == number => {
                        current.set(next);
                        tracing::info!("authentication configuration in use");
                    }
                    Ok(()) => {}
                    Err(error) => {
                        tracing::error!(
                            error,
                            "authentication configuration not used, keeping the previous one"
                        );
                    }
                }
            });
            Ok(())
        });
        Ok(())
    }

    /// Returns the configuration of the flags.
    fn configuration(&self) -> Result<AuthenticationConfiguration, String> {
        let text = |flag: &Option<String>| flag.clone().unwrap_or_default();
        let issuer = text(&self.oidc_issuer_url);
        let claim = self.oidc_username_claim.clone().unwrap_or_else(|| "sub".into());
        // Names of one issuer must not be those of another; addresses are unique by themselves.
        let prefix = match text(&self.oidc_username_prefix).as_str() {
            "" if claim != "email" => format!("{issuer}#"),
            "" | "-" => String::new(),
            given => given.into(),
        };
        let groups = self.oidc_groups_claim.as_ref().map(|claim| PrefixedClaimOrExpression {
            claim: claim.clone(),
            prefix: Some(text(&self.oidc_groups_prefix)),
            ..PrefixedClaimOrExpression::default()
        });
        let rules = self.oidc_required_claim.iter().map(|pair| {
            let (claim, value) = pair.split_once('=').ok_or_else(|| {
                format!("--oidc-required-claim {pair}: write a claim and its value as KEY=VALUE")
            })?;
            Ok(ClaimValidationRule {
                claim: claim.into(),
                required_value: value.into(),
                ..ClaimValidationRule::default()
            })
        });
        let jwt = JwtConfig {
            issuer: Issuer {
                url: issuer,
                audiences: self.oidc_client_id.iter().cloned().collect(),
                certificate_authority: self
                    .oidc_ca_file
                    .as_deref()
                    .map(read)
                    .transpose()?
                    .unwrap_or_default(),
                ..Issuer::default()
            },
            claim_validation_rules: rules.collect::<Result<_, String>>()?,
            claim_mappings: ClaimMappings {
                username: PrefixedClaimOrExpression {
                    claim,
                    prefix: Some(prefix),
                    ..PrefixedClaimOrExpression::default()
                },
                groups: groups.unwrap_or_default(),
                ..ClaimMappings::default()
            },
            user_validation_rules: Vec::new(),
        };
        Ok(AuthenticationConfiguration { jwt: vec![jwt], anonymous: None })
    }
}

fn file(path: &Path) -> Result<AuthenticationConfiguration, String> {
    AuthenticationConfiguration::parse(&read(path)?).map_err(|error| format!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(claim: Option<&str>, prefix: Option<&str>) -> OidcFlags {
        OidcFlags {
            oidc_issuer_url: Some("https://issuer.example".into()),
            oidc_client_id: Some("tenure".into()),
            oidc_username_claim: claim.map(String::from),
            oidc_username_prefix: prefix.map(String::from),
            oidc_required_claim: vec!["hd=a=b".into()],
            oidc_groups_claim: Some("roles".into()),
            ..OidcFlags::default()
        }
    }

    #[test]
    fn flags_become_a_configuration() {
        for (claim, prefix, expected) in [
            (None, None, ("sub", "https://issuer.example#")),
            (Some("name"), Some("-"), ("name", "")),
            (Some("email"), None, ("email", "")),
            (Some("email"), Some("x:"), ("email", "x:")),
        ] {
            let config = flags(claim, prefix).configuration().unwrap();
            let jwt = &config.jwt[0];
            let username = &jwt.claim_mappings.username;
            assert_eq!((username.claim.as_str(), username.prefix.as_deref().unwrap()), expected);
            assert_eq!(jwt.claim_mappings.groups.prefix.as_deref(), Some(""));
            let rule = &jwt.claim_validation_rules[0];
            assert_eq!((rule.claim.as_str(), rule.required_value.as_str()), ("hd", "a=b"));
            JwtAuthenticators::check(&config, &[]).unwrap();
        }
        let wrong = OidcFlags { oidc_required_claim: vec!["hd".into()], ..flags(None, None) };
        assert!(wrong.configuration().unwrap_err().contains("KEY=VALUE"));
    }
}
