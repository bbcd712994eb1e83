//! The configuration of issuers: `AuthenticationConfiguration` of `apiserver.config.k8s.io`.

use tenure_meta::FieldError;
use tenure_value::{Limits, Object, Value, yaml};

const KIND: &str = "AuthenticationConfiguration";
const VERSIONS: [&str; 3] =
    ["apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1alpha1"];

/// Which issuers are trusted, and whether requests without credentials are accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthenticationConfiguration {
    /// The issuers, each with the way from claims to a user.
    pub jwt: Vec<JwtConfig>,
    /// How requests without credentials are treated; `None` if the file does not set it.
    pub anonymous: Option<AnonymousConfig>,
}

/// How requests without credentials are treated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnonymousConfig {
    /// Whether they run as `system:anonymous`.
    pub enabled: bool,
    /// The paths for which they do; all if empty.
    pub paths: Vec<String>,
}

/// An issuer and the claims of its tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JwtConfig {
    /// The issuer.
    pub issuer: Issuer,
    /// The rules for the claims of a token.
    pub claim_validation_rules: Vec<ClaimValidationRule>,
    /// How claims become a user.
    pub claim_mappings: ClaimMappings,
    /// The rules for the user.
    pub user_validation_rules: Vec<UserValidationRule>,
}

/// An issuer of tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Issuer {
    /// Its address, which is also the claim `iss` of its tokens.
    pub url: String,
    /// Where its discovery document is, if not below its address.
    pub discovery_url: String,
    /// The authorities of its TLS certificate, in PEM; those of the system if empty.
    pub certificate_authority: String,
    /// The audiences of which a token must name one.
    pub audiences: Vec<String>,
    /// `MatchAny`, or empty for a single audience.
    pub audience_match_policy: String,
    /// Not supported: the server has no egress selector.
    pub egress_selector_type: String,
}

/// A rule about claims: a claim with a value, or an expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimValidationRule {
    /// The name of a claim.
    pub claim: String,
    /// Its value.
    pub required_value: String,
    /// An expression over `claims` that must be true.
    pub expression: String,
    /// The message if it is false.
    pub message: String,
}

/// How claims become a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimMappings {
    /// The user name.
    pub username: PrefixedClaimOrExpression,
    /// The groups.
    pub groups: PrefixedClaimOrExpression,
    /// The uid.
    pub uid: ClaimOrExpression,
    /// Further attributes.
    pub extra: Vec<ExtraMapping>,
}

/// A claim with a prefix, or an expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefixedClaimOrExpression {
    /// The name of a claim.
    pub claim: String,
    /// The prefix of its value; required with a claim, and may be empty.
    pub prefix: Option<String>,
    /// An expression over `claims`.
    pub expression: String,
}

/// A claim or an expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimOrExpression {
    /// The name of a claim.
    pub claim: String,
    /// An expression over `claims`.
    pub expression: String,
}

/// A further attribute of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtraMapping {
    /// Its key, such as `example.com/tenant`.
    pub key: String,
    /// An expression over `claims` that returns a string or a list of strings.
    pub value_expression: String,
}

/// A rule about the user that claims have become.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserValidationRule {
    /// An expression over `user` that must be true.
    pub expression: String,
    /// The message if it is false.
    pub message: String,
}

/// An error in a configuration.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file is not YAML or JSON.
    #[error("{0}")]
    Syntax(String),
    /// The file is of another kind or version.
    #[error("{field}: {found:?} is not {expected}")]
    Kind {
        /// `apiVersion` or `kind`.
        field: &'static str,
        /// The value in the file.
        found: String,
        /// The correct value.
        expected: String,
    },
    /// A field is unknown or of the wrong type.
    #[error("{at}: {message}")]
    Field {
        /// The field.
        at: String,
        /// What is wrong and what would be right.
        message: String,
    },
    /// The values break rules; every one is listed.
    #[error("{}", join(.0))]
    Invalid(Vec<FieldError>),
}

fn join(errors: &[FieldError]) -> String {
    errors.iter().map(FieldError::to_string).collect::<Vec<_>>().join("; ")
}

impl AuthenticationConfiguration {
    /// Reads a file in YAML or JSON. Unknown and repeated fields are errors: a misspelled rule would let in more than was
    /// meant.
    ///
    /// ```
    /// use tenure_authentication::oidc::AuthenticationConfiguration;
    ///
    /// let text = "{apiVersion: apiserver.config.k8s.io/v1, kind: AuthenticationConfiguration, jwt: [{isuer: {}}]}";
    /// let error = AuthenticationConfiguration::parse(text).unwrap_err();
    /// assert!(error.to_string().starts_with(r#"jwt[0]: unknown field "isuer"; it has issuer,"#));
    /// ```
    pub fn parse(text: &str) -> Result<AuthenticationConfiguration, ConfigError> {
        let syntax = |error: tenure_value::Error| ConfigError::Syntax(error.to_string());
        let (file, duplicates) =
            yaml::parse_any_checked(text.as_bytes(), &Limits::default()).map_err(syntax)?;
        if let Some(duplicate) = duplicates.first() {
            return Err(ConfigError::Syntax(duplicate.to_string()));
        }
        let root = Fields::new(&file, String::new(), &["apiVersion", "kind", "jwt", "anonymous"])?;
        let kind = |field, found: String, expected: String| ConfigError::Kind { field, found, expected };
        match root.text("kind")? {
            found if found != KIND => return Err(kind("kind", found, KIND.into())),
            _ => {}
        }
        match root.text("apiVersion")? {
            found if !VERSIONS.contains(&found.as_str()) => {
                return Err(kind("apiVersion", found, VERSIONS.join(", ")));
            }
            _ => {}
        }
        Ok(AuthenticationConfiguration {
            jwt: root.each("jwt", JwtConfig::read)?,
            anonymous: root.child("anonymous", AnonymousConfig::read)?,
        })
    }
}

impl AnonymousConfig {
    fn read(value: &Value, at: String) -> Result<AnonymousConfig, ConfigError> {
        let fields = Fields::new(value, at, &["enabled", "conditions"])?;
        let paths =
            fields.each("conditions", |condition, at| Fields::new(condition, at, &["path"])?.text("path"))?;
        Ok(AnonymousConfig { enabled: fields.flag("enabled")?, paths })
    }

    /// Whether a request without credentials for a path runs as `system:anonymous`.
    pub fn allows(&self, path: &str) -> bool {
        self.enabled && (self.paths.is_empty() || self.paths.iter().any(|exempt| exempt == path))
    }
}

impl JwtConfig {
    fn read(value: &Value, at: String) -> Result<JwtConfig, ConfigError> {
        let known = ["issuer", "claimValidationRules", "claimMappings", "userValidationRules"];
        let fields = Fields::new(value, at, &known)?;
        Ok(JwtConfig {
            issuer: fields.child("issuer", Issuer::read)?.unwrap_or_default(),
            claim_validation_rules: fields.each("claimValidationRules", ClaimValidationRule::read)?,
            claim_mappings: fields.child("claimMappings", ClaimMappings::read)?.unwrap_or_default(),
            user_validation_rules: fields.each("userValidationRules", UserValidationRule::read)?,
        })
    }
}

impl Issuer {
    fn read(value: &Value, at: String) -> Result<Issuer, ConfigError> {
        let known = [
            "url",
            "discoveryURL",
            "certificateAuthority",
            "audiences",
            "audienceMatchPolicy",
            "egressSelectorType",
        ];
        let fields = Fields::new(value, at, &known)?;
        Ok(Issuer {
            url: fields.text("url")?,
            discovery_url: fields.text("discoveryURL")?,
            certificate_authority: fields.text("certificateAuthority")?,
            audiences: fields.each("audiences", text_of)?,
            audience_match_policy: fields.text("audienceMatchPolicy")?,
            egress_selector_type: fields.text("egressSelectorType")?,
        })
    }
}

impl ClaimValidationRule {
    fn read(value: &Value, at: String) -> Result<ClaimValidationRule, ConfigError> {
        let fields = Fields::new(value, at, &["claim", "requiredValue", "expression", "message"])?;
        Ok(ClaimValidationRule {
            claim: fields.text("claim")?,
            required_value: fields.text("requiredValue")?,
            expression: fields.text("expression")?,
            message: fields.text("message")?,
        })
    }
}

impl ClaimMappings {
    fn read(value: &Value, at: String) -> Result<ClaimMappings, ConfigError> {
        let fields = Fields::new(value, at, &["username", "groups", "uid", "extra"])?;
        Ok(ClaimMappings {
            username: fields.child("username", PrefixedClaimOrExpression::read)?.unwrap_or_default(),
            groups: fields.child("groups", PrefixedClaimOrExpression::read)?.unwrap_or_default(),
            uid: fields.child("uid", ClaimOrExpression::read)?.unwrap_or_default(),
            extra: fields.each("extra", ExtraMapping::read)?,
        })
    }
}

impl PrefixedClaimOrExpression {
    fn read(value: &Value, at: String) -> Result<PrefixedClaimOrExpression, ConfigError> {
        let fields = Fields::new(value, at, &["claim", "prefix", "expression"])?;
        Ok(PrefixedClaimOrExpression {
            claim: fields.text("claim")?,
            prefix: fields.given_text("prefix")?,
            expression: fields.text("expression")?,
        })
    }
}

impl ClaimOrExpression {
    fn read(value: &Value, at: String) -> Result<ClaimOrExpression, ConfigError> {
        let fields = Fields::new(value, at, &["claim", "expression"])?;
        Ok(ClaimOrExpression { claim: fields.text("claim")?, expression: fields.text("expression")? })
    }
}

impl ExtraMapping {
    fn read(value: &Value, at: String) -> Result<ExtraMapping, ConfigError> {
        let fields = Fields::new(value, at, &["key", "valueExpression"])?;
        Ok(ExtraMapping { key: fields.text("key")?, value_expression: fields.text("valueExpression")? })
    }
}

impl UserValidationRule {
    fn read(value: &Value, at: String) -> Result<UserValidationRule, ConfigError> {
        let fields = Fields::new(value, at, &["expression", "message"])?;
        Ok(UserValidationRule { expression: fields.text("expression")?, message: fields.text("message")? })
    }
}

fn text_of(value: &Value, at: String) -> Result<String, ConfigError> {
    value.as_str().map(String::from).ok_or_else(|| wrong(at, "must be a string"))
}

fn wrong(at: String, message: impl Into<String>) -> ConfigError {
    ConfigError::Field { at: if at.is_empty() { "the file".into() } else { at }, message: message.into() }
}

/// An object of the file whose fields are known.
struct Fields<'v> {
    object: &'v Object,
    at: String,
}

impl<'v> Fields<'v> {
    fn new(value: &'v Value, at: String, known: &[&str]) -> Result<Fields<'v>, ConfigError> {
        let Some(object) = value.as_object() else { return Err(wrong(at, "must be an object")) };
        match object.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) => Err(wrong(at, format!("unknown field {name:?}; it has {}", known.join(", ")))),
            None => Ok(Fields { object, at }),
        }
    }

    fn path(&self, field: &str) -> String {
        if self.at.is_empty() { field.into() } else { format!("{}.{field}", self.at) }
    }

    fn given(&self, field: &str) -> Option<&'v Value> {
        self.object.get(field).filter(|value| !value.is_null())
    }

    fn given_text(&self, field: &str) -> Result<Option<String>, ConfigError> {
        self.given(field).map(|value| text_of(value, self.path(field))).transpose()
    }

    fn text(&self, field: &str) -> Result<String, ConfigError> {
        Ok(self.given_text(field)?.unwrap_or_default())
    }

    fn flag(&self, field: &str) -> Result<bool, ConfigError> {
        let read =
            |value: &Value| value.as_bool().ok_or_else(|| wrong(self.path(field), "must be true or false"));
        Ok(self.given(field).map(read).transpose()?.unwrap_or_default())
    }

    fn child<T>(
        &self,
        field: &str,
        read: impl Fn(&'v Value, String) -> Result<T, ConfigError>,
    ) -> Result<Option<T>, ConfigError> {
        self.given(field).map(|value| read(value, self.path(field))).transpose()
    }

    fn each<T>(
        &self,
        field: &str,
        read: impl Fn(&'v Value, String) -> Result<T, ConfigError>,
    ) -> Result<Vec<T>, ConfigError> {
        let Some(list) = self.given(field) else { return Ok(Vec::new()) };
        let list = list.as_array().ok_or_else(|| wrong(self.path(field), "must be a list"))?;
        let items = list.items().iter().enumerate();
        items.map(|(at, item)| read(item, format!("{}[{at}]", self.path(field)))).collect()
    }
}
