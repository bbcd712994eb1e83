//! The rules of a configuration, and its expressions compiled.

use crate::oidc::{
    claims::ClaimMapper,
    config::{
        AuthenticationConfiguration, ClaimMappings, ClaimValidationRule, ConfigError, Issuer, JwtConfig,
        PrefixedClaimOrExpression, UserValidationRule,
    },
    expression::{Expression, Returns, Variable},
};
use http::Uri;
use std::collections::HashSet;
use tenure_meta::FieldError;
use tenure_transport::WebClient;
use tenure_value::Value;

/// The most issuers of a configuration.
const MOST_ISSUERS: usize = 64;
const BOTH: &str = "claim and expression can't both be set";
const NEITHER: &str = "claim or expression is required";
/// The domains of attributes that are reserved for Kubernetes.
const RESERVED: [&str; 2] = ["kubernetes.io", "k8s.io"];

/// The claim mappers of a configuration that is valid, in the order of its issuers.
pub(crate) fn validate(
    config: &AuthenticationConfiguration,
    service_account_issuers: &[String],
) -> Result<Vec<ClaimMapper>, ConfigError> {
    let mut found = Errors(Vec::new());
    if config.jwt.len() > MOST_ISSUERS {
        found.0.push(FieldError::too_many("jwt", config.jwt.len(), MOST_ISSUERS as u64));
        return Err(ConfigError::Invalid(found.0));
    }
    let (mut issuers, mut discoveries) = (HashSet::new(), HashSet::new());
    let mut mappers = Vec::new();
    for (at, jwt) in config.jwt.iter().enumerate() {
        let path = format!("jwt[{at}]");
        found.issuer(&jwt.issuer, service_account_issuers, &format!("{path}.issuer"));
        mappers.push(found.mapper(jwt, &path));
        let Issuer { url, discovery_url, .. } = &jwt.issuer;
        if !issuers.insert(url) {
            found.duplicate(format!("{path}.issuer.url"), url);
        }
        if !discovery_url.is_empty() && !discoveries.insert(discovery_url) {
            found.duplicate(format!("{path}.issuer.discoveryURL"), discovery_url);
        }
    }
    if let Some(anonymous) = &config.anonymous
        && !anonymous.enabled
        && !anonymous.paths.is_empty()
    {
        let paths = Value::array(anonymous.paths.iter().map(|path| Value::from(path.as_str())));
        let detail = "enabled should be set to true when conditions are defined";
        found.0.push(FieldError::invalid("anonymous.conditions", &paths, detail));
    }
    if found.0.is_empty() { Ok(mappers) } else { Err(ConfigError::Invalid(found.0)) }
}

/// The errors found.
struct Errors(Vec<FieldError>);

impl Errors {
    fn required(&mut self, path: impl ToString, detail: &str) {
        self.0.push(FieldError::required(path, detail));
    }

    fn invalid(&mut self, path: impl ToString, value: &str, detail: &str) {
        self.0.push(FieldError::invalid(path, &Value::from(value), detail));
    }

    fn duplicate(&mut self, path: impl ToString, value: &str) {
        self.0.push(FieldError::duplicate(path, &Value::from(value)));
    }

    fn issuer(&mut self, issuer: &Issuer, service_account_issuers: &[String], path: &str) {
        let at = format!("{path}.url");
        match issuer.url.as_str() {
            "" => self.required(at, ""),
            url => {
                if service_account_issuers.iter().any(|own| own == url) {
                    let detail = format!(
                        "URL must not overlap with disallowed issuers: [{}]",
                        service_account_issuers.join(" ")
                    );
                    self.invalid(&at, url, &detail);
                }
                self.url(url, &at);
            }
        }
        let at = format!("{path}.discoveryURL");
        if !issuer.discovery_url.is_empty() {
            let trimmed = |url: &str| url.trim_end_matches('/').to_string();
            if !issuer.url.is_empty() && trimmed(&issuer.url) == trimmed(&issuer.discovery_url) {
                self.invalid(&at, &issuer.discovery_url, "discoveryURL must be different from URL");
            }
            self.url(&issuer.discovery_url, &at);
        }
        self.audiences(issuer, path);
        if !issuer.certificate_authority.is_empty()
            && let Err(why) = WebClient::new(Some(&issuer.certificate_authority))
        {
            self.invalid(format!("{path}.certificateAuthority"), "<omitted>", &why);
        }
        if !issuer.egress_selector_type.is_empty() {
            let detail = "egress selectors are not supported; remove the field";
            self.invalid(format!("{path}.egressSelectorType"), &issuer.egress_selector_type, detail);
        }
    }

    fn url(&mut self, url: &str, path: &str) {
        let parsed: Uri = match url.split_once('#').map_or(url, |(url, _)| url).parse() {
            Ok(parsed) => parsed,
            Err(error) => return self.invalid(path, url, &error.to_string()),
        };
        if parsed.scheme_str() != Some("https") {
            self.invalid(path, url, "URL scheme must be https");
        }
        if parsed.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            self.invalid(path, url, "URL must not contain a username or password");
        }
        if parsed.query().is_some_and(|query| !query.is_empty()) {
            self.invalid(path, url, "URL must not contain a query");
        }
        if url.split_once('#').is_some_and(|(_, fragment)| !fragment.is_empty()) {
            self.invalid(path, url, "URL must not contain a fragment");
        }
    }

    fn audiences(&mut self, issuer: &Issuer, path: &str) {
        let at = format!("{path}.audiences");
        if issuer.audiences.is_empty() {
            return self.required(&at, &format!("at least one {at} is required"));
        }
        let mut seen = HashSet::new();
        for (number, audience) in issuer.audiences.iter().enumerate() {
            if audience.is_empty() {
                self.required(format!("{at}[{number}]"), "");
            }
            if !seen.insert(audience) {
                self.duplicate(format!("{at}[{number}]"), audience);
            }
        }
        let policy = issuer.audience_match_policy.as_str();
        let detail = match issuer.audiences.len() {
            1 if policy.is_empty() => return,
            1 => "audienceMatchPolicy must be empty or MatchAny for single audience",
            _ => "audienceMatchPolicy must be MatchAny for multiple audiences",
        };
        if policy != "MatchAny" {
            self.invalid(format!("{path}.audienceMatchPolicy"), policy, detail);
        }
    }

    fn mapper(&mut self, jwt: &JwtConfig, path: &str) -> ClaimMapper {
        let mut mapper = ClaimMapper { mappings: jwt.claim_mappings.clone(), ..ClaimMapper::default() };
        self.claim_rules(&jwt.claim_validation_rules, &format!("{path}.claimValidationRules"), &mut mapper);
        self.mappings(&jwt.claim_mappings, &format!("{path}.claimMappings"), &mut mapper);
        self.user_rules(&jwt.user_validation_rules, &format!("{path}.userValidationRules"), &mut mapper);
        mapper
    }

    fn claim_rules(&mut self, rules: &[ClaimValidationRule], path: &str, mapper: &mut ClaimMapper) {
        let (mut claims, mut expressions) = (HashSet::new(), HashSet::new());
        for (at, rule) in rules.iter().enumerate() {
            let path = format!("{path}[{at}]");
            match (rule.claim.as_str(), rule.expression.as_str()) {
                ("", "") => self.required(path, NEITHER),
                (claim, "") => {
                    if !rule.message.is_empty() {
                        let detail = "may not be specified when claim is set";
                        self.invalid(format!("{path}.message"), &rule.message, detail);
                    }
                    if !claims.insert(claim) {
                        self.duplicate(format!("{path}.claim"), claim);
                    }
                    mapper.required.push((claim.into(), rule.required_value.clone()));
                }
                ("", expression) => {
                    if !rule.required_value.is_empty() {
                        let detail = "may not be specified when expression is set";
                        self.invalid(format!("{path}.requiredValue"), &rule.required_value, detail);
                    }
                    let path = format!("{path}.expression");
                    if !expressions.insert(expression) {
                        self.duplicate(path, expression);
                        continue;
                    }
                    let compiled = self.compile(expression, Variable::Claims, Returns::Bool, &path);
                    mapper.claim_rules.extend(compiled.map(|rule_of| (rule_of, rule.message.clone())));
                }
                (claim, _) => self.invalid(path, claim, BOTH),
            }
        }
    }

    fn mappings(&mut self, mappings: &ClaimMappings, path: &str, mapper: &mut ClaimMapper) {
        let username = format!("{path}.username");
        mapper.username = self.prefixed(&mappings.username, &username, true);
        mapper.groups = self.prefixed(&mappings.groups, &format!("{path}.groups"), false);
        match (mappings.uid.claim.as_str(), mappings.uid.expression.as_str()) {
            (_, "") => {}
            ("", expression) => {
                let at = format!("{path}.uid.expression");
                mapper.uid = self.compile(expression, Variable::Claims, Returns::Texts, &at);
            }
            _ => self.invalid(format!("{path}.uid"), "", BOTH),
        }
        let mut keys = HashSet::new();
        for (at, extra) in mappings.extra.iter().enumerate() {
            let path = format!("{path}.extra[{at}]");
            self.extra_key(&extra.key, &format!("{path}.key"));
            if !keys.insert(&extra.key) {
                self.duplicate(format!("{path}.key"), &extra.key);
                continue;
            }
            let at = format!("{path}.valueExpression");
            if extra.value_expression.is_empty() {
                self.required(at, "");
                continue;
            }
            let compiled = self.compile(&extra.value_expression, Variable::Claims, Returns::Texts, &at);
            mapper.extra.extend(compiled.map(|compiled| (extra.key.as_str().into(), compiled)));
        }
        // An address that the issuer has not verified could be anyone's.
        let uses = |expression: &Expression| expression.reads_claim("email_verified");
        let reads_address = mapper.username.as_ref().is_some_and(|name| name.reads_claim("email"));
        let is_verified = mapper.username.iter().any(uses)
            || mapper.extra.iter().any(|(_, extra)| uses(extra))
            || mapper.claim_rules.iter().any(|(rule, _)| uses(rule));
        if reads_address && !is_verified {
            let detail = "claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression";
            self.invalid(format!("{username}.expression"), &mappings.username.expression, detail);
        }
    }

    fn prefixed(
        &mut self,
        mapping: &PrefixedClaimOrExpression,
        path: &str,
        is_required: bool,
    ) -> Option<Expression> {
        match (mapping.claim.as_str(), mapping.expression.as_str()) {
            ("", "") if is_required => self.required(path, NEITHER),
            ("", "") => {}
            (_, "") if mapping.prefix.is_none() => {
                let detail = "prefix is required when claim is set. It can be set to an empty string to disable prefixing";
                self.required(format!("{path}.prefix"), detail);
            }
            (_, "") => {}
            ("", expression) => {
                if let Some(prefix) = &mapping.prefix {
                    let detail = "may not be specified when expression is set";
                    self.invalid(format!("{path}.prefix"), prefix, detail);
                }
                let at = format!("{path}.expression");
                return self.compile(expression, Variable::Claims, Returns::Texts, &at);
            }
            _ => self.invalid(path, "", BOTH),
        }
        None
    }

    fn user_rules(&mut self, rules: &[UserValidationRule], path: &str, mapper: &mut ClaimMapper) {
        let mut seen = HashSet::new();
        for (at, rule) in rules.iter().enumerate() {
            let path = format!("{path}[{at}].expression");
            if rule.expression.is_empty() {
                self.required(path, "");
            } else if !seen.insert(&rule.expression) {
                self.duplicate(path, &rule.expression);
            } else {
                let compiled = self.compile(&rule.expression, Variable::User, Returns::Bool, &path);
                mapper.user_rules.extend(compiled.map(|compiled| (compiled, rule.message.clone())));
            }
        }
    }

    fn compile(
        &mut self,
        source: &str,
        variable: Variable,
        returns: Returns,
        path: &str,
    ) -> Option<Expression> {
        match Expression::compile(source, variable, returns) {
            Ok(expression) => Some(expression),
            Err(why) => {
                self.invalid(path, source, &why);
                None
            }
        }
    }

    /// Checks the key of an attribute, which must be a path below a domain, such as `example.com/tenant`.
    fn extra_key(&mut self, key: &str, path: &str) {
        let Some((domain, rest)) = key.split_once('/') else {
            return match key {
                "" => self.required(path, ""),
                _ => self.invalid(path, key, "must be a domain-prefixed path (such as \"acme.io/foo\")"),
            };
        };
        let is_label = |label: &str| {
            !label.is_empty()
                && label.len() <= 63
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        };
        let is_domain = domain.len() <= 253 && domain.to_lowercase().split('.').all(is_label);
        if !is_domain || rest.is_empty() {
            self.invalid(path, key, "must be a domain-prefixed path (such as \"acme.io/foo\")");
        }
        if key != key.to_lowercase() {
            self.invalid(path, key, "must be lowercase");
        }
        let is_below = |suffix: &str| {
            domain.strip_suffix(suffix).is_some_and(|left| left.is_empty() || left.ends_with('.'))
        };
        if RESERVED.into_iter().any(is_below) {
            let detail = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use";
            self.invalid(path, key, detail);
        }
    }
}
