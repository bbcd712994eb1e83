//! The `token` subresource of service accounts.

use super::Subresources;
use crate::{
    Answer, Cause, Failure, Format,
    kinds::scalar::Timestamp,
    object::{Stored, meta_text, seconds},
    target::Target,
    token::{AUDIENCE, Claims},
};
use hyper::StatusCode;
use tenure_value::{Text, Value};

/// The default, shortest and longest lifetime of a token, in seconds.
const DEFAULT: i64 = 3600;
const SHORTEST: i64 = 600;
const LONGEST: i64 = 1 << 32;
/// The most audiences of a token.
const AUDIENCES: usize = 32;

impl Subresources {
    /// Issues a token for a service account.
    pub(super) async fn create_token(
        &self,
        target: &Target,
        asked: &Value,
        format: Format,
    ) -> Result<Answer, Failure> {
        let spec = asked.get("spec").cloned().unwrap_or(Value::Null);
        let (audiences, lasts) = requested(&spec)?;
        let key = target.key();
        let account =
            self.writer.objects.store.get(key.as_bytes()).await?.ok_or_else(|| target.not_found())?;
        let account = Stored::read(&account)?;
        let now = self.writer.objects.clock.now();
        let claims = Claims {
            namespace: target.namespace.clone(),
            name: target.name.clone(),
            uid: meta_text(&account.object, "uid").into(),
            audiences,
            issued: now.seconds,
            expires: now.seconds.saturating_add(lasts),
        };
        let expires = Timestamp { seconds: claims.expires, nanos: 0 };
        let metadata = [
            ("name", Value::from(target.name.clone())),
            ("namespace", target.namespace.clone().into()),
            ("creationTimestamp", seconds(now).into()),
        ];
        let spec = [
            ("audiences", Value::array(claims.audiences.iter().map(|one| Value::from(one.clone())))),
            ("expirationSeconds", Value::from(lasts)),
            ("boundObjectRef", Value::Null),
        ];
        let status = [
            ("token", Value::from(self.authenticator.issue(&claims))),
            ("expirationTimestamp", seconds(expires).into()),
        ];
        let answer = Value::object([
            ("apiVersion", Value::from("authentication.k8s.io/v1")),
            ("kind", "TokenRequest".into()),
            ("metadata", Value::object(metadata)),
            ("spec", Value::object(spec)),
            ("status", Value::object(status)),
        ]);
        Ok(Answer::document(StatusCode::CREATED, &answer, format))
    }
}

/// Reads the audiences and the lifetime that a request asks for.
fn requested(spec: &Value) -> Result<(Vec<Text>, i64), Failure> {
    let mut causes = Vec::new();
    let mut wrong = |field: &str, message: &str| {
        causes.push(Cause {
            reason: "FieldValueInvalid".into(),
            message: message.to_owned(),
            field: field.to_owned(),
            extension: None,
        });
    };
    let lasts = match spec.get("expirationSeconds") {
        None | Some(Value::Null) => DEFAULT,
        Some(value) => value.as_i64().unwrap_or(0),
    };
    if lasts < SHORTEST {
        wrong(
            "spec.expirationSeconds",
            &format!("Invalid value: {lasts}: may not specify a duration less than 10 minutes"),
        );
    }
    if lasts > LONGEST {
        wrong(
            "spec.expirationSeconds",
            &format!("Invalid value: {lasts}: may not specify a duration larger than 2^32 seconds"),
        );
    }
    let mut audiences = texts(spec.get("audiences"));
    if audiences.len() > AUDIENCES {
        wrong(
            "spec.audiences",
            &format!("Too many: {}: must have at most {AUDIENCES} items", audiences.len()),
        );
    }
    if spec.get("boundObjectRef").is_some_and(|bound| !bound.is_null()) {
        wrong("spec.boundObjectRef", "Invalid value: a token is bound to its account alone; leave this out");
    }
    if !causes.is_empty() {
        return Err(Failure::invalid("authentication.k8s.io", "TokenRequest", "", causes));
    }
    if audiences.is_empty() {
        audiences.push(AUDIENCE.into());
    }
    Ok((audiences, lasts))
}

pub(super) fn texts(list: Option<&Value>) -> Vec<Text> {
    let list = list.and_then(Value::as_array).into_iter().flat_map(|list| list.iter());
    list.filter_map(Value::as_str).map(Text::from).collect()
}
