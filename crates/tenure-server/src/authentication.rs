//! Service accounts as users: tokens are asked for below an account, and let in as that account for as long as it
//! exists. There are no roles: whoever is let in may do everything.

use crate::{
    Answer, Cause, Failure, Format,
    kinds::scalar::Timestamp,
    object::{Stored, key, meta_text},
    server::Server,
    target::Target,
    token::{AUDIENCE, Claims},
    write::create::seconds,
};
use hyper::{HeaderMap, StatusCode, header};
use tenure_value::{Text, Value};

/// How long a token holds that was asked for without saying so, and the least and the most, in seconds.
const USUAL: i64 = 3600;
const LEAST: i64 = 600;
const MOST: i64 = 1 << 32;
/// The most audiences of a token.
const AUDIENCES: usize = 32;

/// Who makes a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    Admin,
    Account(Claims),
}

impl Caller {
    /// Returns the caller as reviews describe it.
    pub fn to_value(&self) -> Value {
        let groups = |groups: &[&str]| Value::array(groups.iter().map(|group| Value::from(*group)));
        match self {
            Caller::Admin => Value::object([
                ("username", Value::from("admin")),
                ("groups", groups(&["system:masters", "system:authenticated"])),
            ]),
            Caller::Account(claims) => {
                let own = format!("system:serviceaccounts:{}", claims.namespace);
                Value::object([
                    ("username", Value::from(claims.user())),
                    ("uid", Value::from(claims.uid.clone())),
                    ("groups", groups(&["system:serviceaccounts", &own, "system:authenticated"])),
                ])
            }
        }
    }
}

impl Server {
    /// Lets a request in, or says why not.
    pub(crate) async fn let_in(&self, path: &str, headers: &HeaderMap) -> Result<(), Failure> {
        let Err(failure) = self.access.check(path, headers) else { return Ok(()) };
        // Seldom, and so not in the way of all.
        match Box::pin(self.account_of(headers)).await {
            Some(_) => Ok(()),
            None => Err(failure),
        }
    }

    /// Returns who makes a request that was let in.
    pub(crate) async fn caller(&self, headers: &HeaderMap) -> Caller {
        self.account_of(headers).await.map_or(Caller::Admin, Caller::Account)
    }

    async fn account_of(&self, headers: &HeaderMap) -> Option<Claims> {
        let given = headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?;
        let claims = self.account(given.trim()).await?;
        claims.audiences.iter().any(|audience| audience == AUDIENCE).then_some(claims)
    }

    /// Returns what a token says, if it was made here, still holds, and its account still exists.
    pub(crate) async fn account(&self, token: &str) -> Option<Claims> {
        let claims = self.issuer.read(token, self.now().seconds)?;
        let accounts = crate::kinds::registry().find("", "v1", "serviceaccounts")?;
        let entry = self.store.peek(key(accounts, &claims.namespace, &claims.name).as_bytes()).ok()??;
        let stored = Stored::read(&entry).ok()?;
        (meta_text(&stored.object, "uid") == claims.uid.as_str()).then_some(claims)
    }

    /// Answers whose a token is, for the audiences that are asked for.
    pub(crate) async fn review_token(&self, asked: &Value) -> Value {
        let token = asked.at(["spec", "token"]).and_then(Value::as_str).unwrap_or_default();
        let unknown =
            |why: &str| Value::object([("error", Value::from(why)), ("authenticated", Value::Bool(false))]);
        let known = |caller: &Caller, audiences: Vec<Text>| {
            let audiences = Value::array(audiences.into_iter().map(Value::from));
            Value::object([
                ("authenticated", Value::Bool(true)),
                ("user", caller.to_value()),
                ("audiences", audiences),
            ])
        };
        let mut wanted = texts(asked.at(["spec", "audiences"]));
        if wanted.is_empty() {
            wanted.push(AUDIENCE.into());
        }
        let (caller, audiences) = match self.account(token).await {
            Some(claims) => {
                wanted.retain(|audience| claims.audiences.contains(audience));
                (Caller::Account(claims), wanted)
            }
            None if self.access.knows(token) => {
                wanted.retain(|audience| audience == AUDIENCE);
                (Caller::Admin, wanted)
            }
            None => return unknown("the token is not known"),
        };
        match audiences.is_empty() {
            true => unknown("the token is not for any of these audiences"),
            false => known(&caller, audiences),
        }
    }

    /// Makes a token for an account.
    pub(crate) async fn make_token(
        &self,
        target: &Target,
        asked: &Value,
        format: Format,
    ) -> Result<Answer, Failure> {
        let spec = asked.get("spec").cloned().unwrap_or(Value::Null);
        let (audiences, lasts) = wanted(&spec)?;
        let key = key(&target.served.resource, &target.namespace, &target.name);
        let account = self.store.get(key.as_bytes()).await?.ok_or_else(|| target.not_found())?;
        let account = Stored::read(&account)?;
        let now = self.now();
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
            ("token", Value::from(self.issuer.issue(&claims))),
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

/// Reads for whom a token is to be, and for how long.
fn wanted(spec: &Value) -> Result<(Vec<Text>, i64), Failure> {
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
        None | Some(Value::Null) => USUAL,
        Some(value) => value.as_i64().unwrap_or(0),
    };
    if lasts < LEAST {
        wrong(
            "spec.expirationSeconds",
            &format!("Invalid value: {lasts}: may not specify a duration less than 10 minutes"),
        );
    }
    if lasts > MOST {
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

fn texts(list: Option<&Value>) -> Vec<Text> {
    let list = list.and_then(Value::as_array).into_iter().flat_map(|list| list.iter());
    list.filter_map(Value::as_str).map(Text::from).collect()
}
