//! The flags of kube-apiserver that `tenure serve` has, too: one definition for both, read here in the syntax of kube-apiserver.
//! There an empty value is the default, the last of several values counts, and a list may be given in several parts.

use super::flags::{FlagError, Flags, Kind, invalid};
use crate::{aggregation::AggregationFlags, audit::AuditFlags, identity::IdentityFlags};
use clap::{
    Arg, ArgAction, CommandFactory, Parser,
    error::{ContextKind, ContextValue, ErrorKind},
};
use std::error::Error;

/// The flags about users, permissions, extension API servers and audit.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
pub struct SharedFlags {
    #[command(flatten)]
    pub identity: IdentityFlags,
    #[command(flatten)]
    pub aggregation: AggregationFlags,
    #[command(flatten)]
    pub audit: AuditFlags,
}

impl SharedFlags {
    /// Reads the flags that were given.
    pub fn read(flags: &Flags) -> Result<SharedFlags, FlagError> {
        let command = SharedFlags::command();
        let given = command.get_arguments().flat_map(|flag| as_clap_reads(flag, flags));
        SharedFlags::try_parse_from(given).map_err(refusal)
    }

    /// Returns the name, kind and help of each flag.
    pub fn all() -> Vec<(String, Kind, String)> {
        let command = SharedFlags::command();
        let described = command.get_arguments().filter_map(|flag| {
            let help = flag.get_help().map(|help| format!("{help}.")).unwrap_or_default();
            Some((flag.get_long()?.to_owned(), kind(flag), help))
        });
        described.collect()
    }
}

/// A flag whose values are true and false takes one after `=` only.
fn kind(flag: &Arg) -> Kind {
    let values = flag.get_possible_values();
    let is_switch = matches!(flag.get_action(), ArgAction::SetTrue)
        || values.iter().map(|value| value.get_name()).eq(["true", "false"]);
    if is_switch { Kind::Switch } else { Kind::Value }
}

fn as_clap_reads(flag: &Arg, flags: &Flags) -> Vec<String> {
    let Some(name) = flag.get_long() else { return Vec::new() };
    let last = || flags.last(name).map(str::to_owned);
    let values = match flag.get_action() {
        ArgAction::SetTrue => {
            return last().filter(|value| value == "true").map(|_| format!("--{name}")).into_iter().collect();
        }
        ArgAction::Append if flag.get_value_delimiter().is_some() => flags.list(name).unwrap_or_default(),
        ArgAction::Append => flags.all(name).to_vec(),
        _ => last().into_iter().collect(),
    };
    values.iter().filter(|value| !value.is_empty()).map(|value| format!("--{name}={value}")).collect()
}

/// Says in the words of kube-apiserver what is wrong.
fn refusal(error: clap::Error) -> FlagError {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        _ => String::new(),
    };
    let shown = text(ContextKind::InvalidArg);
    let flag = shown.split(' ').next().unwrap_or_default().trim_start_matches("--");
    if error.kind() == ErrorKind::MissingRequiredArgument {
        return FlagError::NeedsArgument(flag.to_owned());
    }
    let reason = match (error.source(), text(ContextKind::ValidValue)) {
        (Some(source), _) => source.to_string(),
        (None, valid) => format!("expected one of {valid}"),
    };
    invalid(flag, &text(ContextKind::InvalidValue), reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envtest::api_server_flags::parse;
    use std::{path::PathBuf, time::Duration};

    fn read(line: &str) -> Result<SharedFlags, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let read = parse(&arguments).and_then(|flags| SharedFlags::read(&flags));
        read.map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_read_as_kube_apiserver_reads_them() {
        let SharedFlags { identity, aggregation, audit } = read(
            "--anonymous-auth=false --anonymous-auth --token-auth-file= --client-ca-file=/a --client-ca-file /b \
             --api-audiences=x,,y --api-audiences z --service-account-key-file=/1 --service-account-key-file=/2 \
             --service-account-max-token-expiration=0s --oidc-issuer-url=https://i --oidc-client-id=c \
             --oidc-username-prefix=- --authorization-webhook-cache-authorized-ttl=1m30s --enable-aggregator-routing \
             --audit-log-compress=false --audit-log-maxsize=0 --audit-log-mode=blocking",
        )
        .unwrap();
        assert_eq!(identity.anonymous_auth, Some(true));
        assert_eq!((identity.token_auth_file, identity.client_ca_file), (None, Some("/b".into())));
        assert_eq!(identity.api_audiences, ["x", "y", "z"]);
        assert_eq!(identity.service_account_key_file, ["/1", "/2"].map(PathBuf::from));
        assert_eq!(identity.service_account_max_token_expiration, Some(0));
        assert_eq!(identity.oidc.oidc_username_prefix.as_deref(), Some("-"));
        let ttl = identity.authorization.authorization_webhook_cache_authorized_ttl;
        assert_eq!(ttl, Some(Duration::from_secs(90)));
        assert_eq!(aggregation.enable_aggregator_routing, Some(true));
        assert!(!audit.audit_log_compress && audit.audit_log_maxsize == Some(0));
        assert!(read("--audit-log-compress").unwrap().audit.audit_log_compress);
    }

    #[test]
    fn a_wrong_value_is_named_with_what_would_be_right() {
        for (line, error) in [
            (
                "--authorization-mode=RBAC,Nope",
                r#"invalid argument "Nope" for "--authorization-mode" flag: expected one of Node, RBAC, ABAC, Webhook, AlwaysAllow, AlwaysDeny"#,
            ),
            (
                "--audit-log-format=xml",
                r#"invalid argument "xml" for "--audit-log-format" flag: expected one of json, legacy"#,
            ),
            (
                "--audit-log-maxage=soon",
                r#"invalid argument "soon" for "--audit-log-maxage" flag: invalid digit found in string"#,
            ),
            (
                "--service-account-max-token-expiration=500ms",
                r#"invalid argument "500ms" for "--service-account-max-token-expiration" flag: expected 0, or a duration between 1h and 2^32 seconds, such as 24h"#,
            ),
            ("--oidc-issuer-url=https://i", "flag needs an argument: --oidc-client-id"),
            ("--proxy-client-cert-file=/a", "flag needs an argument: --proxy-client-key-file"),
        ] {
            assert_eq!(read(line).err().as_deref(), Some(error), "{line}");
        }
    }
}
