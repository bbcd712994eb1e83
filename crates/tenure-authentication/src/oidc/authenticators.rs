//! The authenticators of all issuers of a configuration.

use crate::oidc::{
    authenticator::JwtAuthenticator,
    config::{AuthenticationConfiguration, ConfigError},
    jwk::ALGORITHMS,
    token::Token,
    validation::validate,
};
use std::{sync::Arc, time::Duration};
use tenure_meta::UserInfo;
use tenure_transport::WebClient;

/// The user of a token, and when it expires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authenticated {
    /// The user.
    pub user: UserInfo,
    /// When the token ends, in seconds since 1970.
    pub expires: i64,
}

/// The authenticators of the issuers of a configuration.
#[derive(Default)]
pub struct JwtAuthenticators(Vec<JwtAuthenticator>);

impl JwtAuthenticators {
    /// Validates a configuration and starts to read the discovery documents of its issuers. `algorithms` are those that
    /// tokens may be signed with; `service_account_issuers` are the issuers of the server itself, which must not be among
    /// those of the configuration. Must be called within a Tokio runtime.
    pub fn start(
        config: &AuthenticationConfiguration,
        algorithms: &[String],
        service_account_issuers: &[String],
    ) -> Result<JwtAuthenticators, ConfigError> {
        let mappers = validate(config, service_account_issuers)?;
        if let Some(unknown) = algorithms.iter().find(|name| !ALGORITHMS.contains(&name.as_str())) {
            let message =
                format!("oidc: unsupported signing alg: {unknown:?}; use {}", ALGORITHMS.join(", "));
            return Err(ConfigError::Syntax(message));
        }
        let algorithms: Arc<[String]> = algorithms.into();
        let start = |(jwt, mapper): (&crate::oidc::JwtConfig, _)| {
            let authority = Some(jwt.issuer.certificate_authority.as_str()).filter(|pem| !pem.is_empty());
            let client = WebClient::new(authority).map_err(ConfigError::Syntax)?;
            Ok(JwtAuthenticator::start(jwt.issuer.clone(), algorithms.clone(), mapper, client))
        };
        config.jwt.iter().zip(mappers).map(start).collect::<Result<_, _>>().map(JwtAuthenticators)
    }

    /// Checks a configuration without starting anything.
    pub fn check(
        config: &AuthenticationConfiguration,
        service_account_issuers: &[String],
    ) -> Result<(), ConfigError> {
        validate(config, service_account_issuers).map(drop)
    }

    /// Waits until the discovery documents of all issuers are read; the error names an issuer that has none.
    pub async fn ready(&self, patience: Duration) -> Result<(), String> {
        let end = tokio::time::Instant::now() + patience;
        for authenticator in &self.0 {
            authenticator.ready(end.saturating_duration_since(tokio::time::Instant::now())).await?;
        }
        Ok(())
    }

    /// Returns the user of a token, or why it is refused; `None` if no issuer of the configuration has issued it.
    pub async fn authenticate(&self, token: &str, now: i64) -> Option<Result<Authenticated, String>> {
        if self.0.is_empty() {
            return None;
        }
        let token = Token::read(token)?;
        let authenticator = self.0.iter().find(|authenticator| authenticator.is_issuer_of(&token))?;
        let authenticated = authenticator.authenticate(&token, now).await;
        Some(authenticated.map(|(user, expires)| Authenticated { user, expires }))
    }
}
