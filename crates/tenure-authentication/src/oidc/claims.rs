//! From the claims of a verified token to a user.

use crate::oidc::{
    config::{ClaimMappings, PrefixedClaimOrExpression},
    expression::{Expression, claims_document, user_document},
};
use tenure_meta::UserInfo;
use tenure_value::{Text, Value};

/// The attribute that names the token.
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// The compiled form of the mappings and rules of an issuer.
#[derive(Debug, Default)]
pub(crate) struct ClaimMapper {
    pub mappings: ClaimMappings,
    pub username: Option<Expression>,
    pub groups: Option<Expression>,
    pub uid: Option<Expression>,
    pub extra: Vec<(Text, Expression)>,
    /// Claims with the value that they must have.
    pub required: Vec<(String, String)>,
    /// Rules about claims, each with its message.
    pub claim_rules: Vec<(Expression, String)>,
    /// Rules about the user, each with its message.
    pub user_rules: Vec<(Expression, String)>,
}

impl ClaimMapper {
    /// Returns the user of claims, or why they have none.
    pub fn user(&self, claims: &Value) -> Result<UserInfo, String> {
        let has_expressions = self.username.is_some()
            || self.groups.is_some()
            || self.uid.is_some()
            || !self.extra.is_empty()
            || !self.claim_rules.is_empty();
        let document = if has_expressions { claims_document(claims) } else { Value::Null };
        let mut user = UserInfo::new(self.username(claims, &document)?);
        user.groups = self.groups(claims, &document)?;
        user.uid = self.uid(claims, &document)?;
        user.extra = self.extra(claims, &document)?;
        for (claim, expected) in &self.required {
            let found =
                claims.get(claim).ok_or_else(|| format!("required claim {claim} not present in ID token"))?;
            let found = text_of(found)
                .ok_or_else(|| format!("parse claim {claim}: it is {}, not a string", kind(found)))?;
            if found != expected {
                return Err(format!(
                    "required claim {claim} value does not match. Got = {found}, want = {expected}"
                ));
            }
        }
        for (rule, message) in &self.claim_rules {
            let checked = rule.check(&document, message);
            checked.map_err(|why| format!("error evaluating claim validation expression: {why}"))?;
        }
        if !self.user_rules.is_empty() {
            let document = user_document(&user);
            for (rule, message) in &self.user_rules {
                let checked = rule.check(&document, message);
                checked.map_err(|why| format!("error evaluating user info validation rule: {why}"))?;
            }
        }
        Ok(user)
    }

    fn username(&self, claims: &Value, document: &Value) -> Result<Text, String> {
        if let Some(expression) = &self.username {
            let failed = |why: &str| format!("error evaluating username claim expression: {why}");
            let name = expression.text(document).map_err(|why| failed(&why))?;
            let name = name.ok_or_else(|| failed("username claim expression must return a string"))?;
            return match name.is_empty() {
                true => Err("empty username via CEL expression is not allowed".into()),
                false => Ok(name),
            };
        }
        let PrefixedClaimOrExpression { claim, prefix, .. } = &self.mappings.username;
        let found =
            claim_text(claims, claim).map_err(|why| format!("parse username claims {claim:?}: {why}"))?;
        // An address that the issuer has not verified could be anyone's.
        if claim == "email"
            && let Some(verified) = claims.get("email_verified")
        {
            match verified {
                Value::Bool(true) => {}
                Value::Bool(false) => return Err("email not verified".into()),
                other => {
                    return Err(format!("parse 'email_verified' claim: it is {}, not a bool", kind(other)));
                }
            }
        }
        if found.is_empty() {
            return Err(format!("parse username claims {claim:?}: it is empty"));
        }
        Ok(prefixed(prefix, found))
    }

    fn groups(&self, claims: &Value, document: &Value) -> Result<Vec<Text>, String> {
        if let Some(expression) = &self.groups {
            let groups = expression.texts(document);
            return groups.map_err(|why| format!("error evaluating group claim expression: {why}"));
        }
        let PrefixedClaimOrExpression { claim, prefix, .. } = &self.mappings.groups;
        let Some(found) = claims.get(claim).filter(|_| !claim.is_empty()) else { return Ok(Vec::new()) };
        let wrong = |claim: &Value| {
            format!(
                "parse groups claim {claim:?}: {} is neither a string nor in a list of strings",
                kind(claim)
            )
        };
        match found {
            Value::Null => Ok(Vec::new()),
            Value::String(group) => Ok(vec![prefixed(prefix, group)]),
            Value::Array(list) => {
                let group = |claim: &Value| {
                    claim.as_str().map(|name| prefixed(prefix, name)).ok_or_else(|| wrong(claim))
                };
                list.items().iter().map(group).collect()
            }
            other => Err(wrong(other)),
        }
    }

    fn uid(&self, claims: &Value, document: &Value) -> Result<Text, String> {
        if let Some(expression) = &self.uid {
            let failed = |why: &str| format!("error evaluating uid claim expression: {why}");
            let uid = expression.text(document).map_err(|why| failed(&why))?;
            return uid.ok_or_else(|| failed("uid claim expression must return a string"));
        }
        match self.mappings.uid.claim.as_str() {
            "" => Ok(Text::default()),
            claim => {
                let uid =
                    claim_text(claims, claim).map_err(|why| format!("parse uid claim {claim:?}: {why}"));
                uid.map(Text::from)
            }
        }
    }

    fn extra(&self, claims: &Value, document: &Value) -> Result<Vec<(Text, Vec<Text>)>, String> {
        let mut extra = Vec::new();
        let id = claims.get("jti").and_then(Value::as_str).filter(|id| !id.is_empty());
        if let Some(id) = id {
            extra.push((CREDENTIAL_ID.into(), vec![format!("JTI={id}").into()]));
        }
        for (key, expression) in &self.extra {
            let values = expression.texts(document).map_err(|why| {
                format!("error evaluating extra claim expression: {}: {why}", expression.source)
            })?;
            if !values.is_empty() {
                extra.push((key.clone(), values));
            }
        }
        extra.sort();
        Ok(extra)
    }
}

fn prefixed(prefix: &Option<String>, text: &str) -> Text {
    match prefix.as_deref() {
        None | Some("") => text.into(),
        Some(prefix) => format!("{prefix}{text}").into(),
    }
}

/// Returns a claim that must be a string.
fn claim_text<'c>(claims: &'c Value, claim: &str) -> Result<&'c str, String> {
    let found = claims.get(claim).ok_or("claim not present")?;
    text_of(found).ok_or_else(|| format!("it is {}, not a string", kind(found)))
}

/// Returns a string; null is an empty one.
fn text_of(value: &Value) -> Option<&str> {
    if value.is_null() { Some("") } else { value.as_str() }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a bool",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
        _ => "a number",
    }
}
