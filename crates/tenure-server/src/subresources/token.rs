//! The `token` subresource of service accounts.

use super::Subresources;
use hyper::StatusCode;
use tenure_authentication::credentials::{BoundObject, TokenRequest};
use tenure_builtin::role::{NODES, PODS, SECRETS};
use tenure_catalog::{
    Target, Verb,
    object::{meta_text, seconds},
};
use tenure_http::{Format, Request, Response, WriteOptions};
use tenure_meta::{ApiError, Cause, FieldError, GroupVersionResource, Timestamp};
use tenure_value::{Text, Value};

const GROUP: &str = "authentication.k8s.io";
const API_VERSION: &str = "authentication.k8s.io/v1";
const KIND: &str = "TokenRequest";
const NULL: Value = Value::Null;
/// The default, shortest and longest lifetime of a token, in seconds.
const DEFAULT: i64 = 3600;
const SHORTEST: i64 = 600;
const LONGEST: i64 = 1 << 32;
/// The annotation of an audit event that names the token that was issued.
const ISSUED_CREDENTIAL: &str = "authentication.kubernetes.io/issued-credential-id";
/// The most audiences of a token.
const AUDIENCES: usize = 32;

impl Subresources {
    /// Issues a token for a service account.
    pub(super) async fn create_token(
        &self,
        target: &Target,
        (posted, options): (&Request, WriteOptions),
        asked: &Value,
        format: Format,
    ) -> Result<Response, ApiError> {
        let spec = asked.get("spec").cloned().unwrap_or(Value::Null);
        let tokens = &self.authenticator.tokens;
        let given = |field: &str| asked.at(["metadata", field]).and_then(Value::as_str).unwrap_or_default();
        if !given("namespace").is_empty() && given("namespace") != target.namespace {
            let why = "the namespace of the provided object does not match the namespace sent on the request";
            return Err(ApiError::bad_request(why));
        }
        if !given("name").is_empty() && given("name") != target.name {
            let detail = "must match the service account name if specified";
            let error = FieldError::invalid("metadata.name", &given("name").into(), detail);
            return Err(ApiError::invalid(GROUP, KIND, &target.name, vec![error.cause()]));
        }
        let account = self.live(target).await?;
        let uid = meta_text(&account.object, "uid");
        if !given("uid").is_empty() && given("uid") != uid {
            let why = format!(
                "the UID in the token request ({}) does not match the UID of the service account ({uid})",
                given("uid")
            );
            return Err(ApiError::conflict(GROUP, KIND, &target.name, &why));
        }
        let (mut audiences, mut lasts) = requested(&spec)?;
        if audiences.is_empty() {
            audiences = tokens.audiences.clone();
        }
        let mut warnings = Vec::new();
        if let Some(longest) = tokens.longest_seconds.filter(|longest| lasts > *longest) {
            warnings.push(format!("requested expiration of {lasts} seconds shortened to {longest} seconds"));
            lasts = longest;
        }
        let bound = self.bound_objects(target, spec.get("boundObjectRef")).await?;
        let now = self.writer.objects.clock.now();
        let request = TokenRequest {
            issuer: tokens.issuer(),
            for_api_server: audiences.iter().all(|audience| tokens.audiences.contains(audience)),
            audiences,
            account: (target.namespace.clone(), target.name.clone(), uid.into()),
            bound,
            seconds: lasts,
            id: self.writer.objects.identifiers.uuid(&["token", &target.namespace, &target.name]).into(),
            now: now.seconds,
        };
        posted.audit.annotate([(ISSUED_CREDENTIAL, format!("JTI={}", request.id))]);
        let expires = Timestamp { seconds: now.seconds.saturating_add(lasts), nanos: 0 };
        let object = |name: &str| asked.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
        let managers = self.managers_of_request(target, posted, options, asked);
        let metadata = object("metadata")
            .with("name", target.name.clone())
            .with("namespace", target.namespace.clone())
            .with("creationTimestamp", seconds(now))
            .with("uid", uid);
        let metadata = match managers.is_null() {
            true => metadata,
            false => metadata.with("managedFields", managers),
        };
        let bound = spec.get("boundObjectRef").cloned().unwrap_or(Value::Null);
        let spec = object("spec")
            .with("audiences", Value::array(request.audiences.iter().cloned().map(Value::from)))
            .with("expirationSeconds", lasts)
            .with("boundObjectRef", bound);
        let status = [
            ("token", Value::from(tokens.issue(&request)?)),
            ("expirationTimestamp", seconds(expires).into()),
        ];
        let answer = Value::object([
            ("apiVersion", Value::from(API_VERSION)),
            ("kind", KIND.into()),
            ("metadata", Value::from(metadata)),
            ("spec", Value::from(spec)),
            ("status", Value::object(status)),
        ]);
        Ok(Response::document(StatusCode::CREATED, &answer, format).with_warnings(&warnings))
    }
}

impl Subresources {
    /// Returns the managers of a token request, which owns the default of its lifetime.
    fn managers_of_request(
        &self,
        target: &Target,
        request: &Request,
        options: WriteOptions,
        asked: &Value,
    ) -> Value {
        let unset = [
            ("spec", vec![("audiences", NULL), ("boundObjectRef", NULL), ("expirationSeconds", NULL)]),
            ("status", vec![("expirationTimestamp", NULL), ("token", Value::from(""))]),
        ];
        let mut document =
            asked.as_object().cloned().unwrap_or_default().with("apiVersion", API_VERSION).with("kind", KIND);
        for (part, fields) in &unset {
            let given = document.get(part).and_then(Value::as_object).cloned().unwrap_or_default();
            let filled = fields.iter().fold(given, |given, (field, zero)| match given.get(field) {
                Some(value) if !value.is_null() => given,
                _ if *field == "expirationSeconds" => given.with(*field, DEFAULT),
                _ => given.with(*field, zero.clone()),
            });
            document = document.with(*part, filled);
        }
        let empty = Value::object(unset.map(|(part, fields)| (part, Value::object(fields))));
        self.writer.managers_of_part(target, request, options, (&document.into(), &empty))
    }

    /// Returns the objects that a token is bound to: the one that is asked for and, for a pod, the node that it runs on.
    async fn bound_objects(
        &self,
        account: &Target,
        asked: Option<&Value>,
    ) -> Result<Vec<BoundObject>, ApiError> {
        let Some(asked) = asked.filter(|asked| !asked.is_null()) else { return Ok(Vec::new()) };
        let text = |field: &str| asked.get(field).and_then(Value::as_str).unwrap_or_default();
        let (resource, word) = match (text("apiVersion"), text("kind")) {
            ("v1" | "", "Pod") => (PODS, "pod"),
            ("v1" | "", "Secret") => (SECRETS, "secret"),
            ("v1" | "", "Node") => (NODES, "node"),
            (version, kind) => {
                let slash = if version.contains('/') { "" } else { "/" };
                let refused = format!("cannot bind token to object of type {slash}{version}, Kind={kind}");
                let better = ApiError::bad_request(format!("{refused}; use Pod, Secret or Node"));
                return Err(better.or_in_kubernetes(ApiError::bad_request(refused)));
            }
        };
        let (object, bound) = self.bound_object(resource, word, account, text("name")).await?;
        if !text("uid").is_empty() && text("uid") != bound.uid {
            let why = format!(
                "the UID in the bound object reference ({}) does not match the UID in record. The object might have been deleted and then recreated",
                text("uid")
            );
            // As recorded: the message names the kind.
            return Err(ApiError::conflict("", text("kind"), text("name"), &why));
        }
        if word == "pod" {
            let runs_as = object.at(["spec", "serviceAccountName"]).and_then(Value::as_str);
            let runs_as = runs_as.filter(|name| !name.is_empty()).unwrap_or("default");
            if runs_as != account.name {
                return Err(ApiError::bad_request(format!(
                    "cannot bind token for serviceaccount {:?} to pod running with different serviceaccount name.",
                    account.name.as_str()
                )));
            }
        }
        let mut all = vec![bound];
        let node = object.at(["spec", "nodeName"]).and_then(Value::as_str).unwrap_or_default();
        if word == "pod" && !node.is_empty() {
            // A node that does not exist yet, or any more, is named without a uid.
            all.push(match self.bound_object(NODES, "node", account, node).await {
                Ok((_, node)) => node,
                Err(failure) if failure.code() == 404 => {
                    BoundObject { kind: "node".into(), name: node.into(), uid: Text::default() }
                }
                Err(failure) => return Err(failure),
            });
        }
        Ok(all)
    }

    async fn bound_object(
        &self,
        GroupVersionResource { group, version, resource }: GroupVersionResource,
        word: &str,
        account: &Target,
        name: &str,
    ) -> Result<(Value, BoundObject), ApiError> {
        let target = Target {
            handler: self.writer.objects.catalog.resource(group, version, resource)?,
            namespace: if word == "node" { Text::default() } else { account.namespace.clone() },
            name: name.into(),
            subresource: Text::default(),
            verb: Verb::Get,
        };
        let stored = self.live(&target).await?;
        let uid = meta_text(&stored.object, "uid").into();
        Ok((stored.object, BoundObject { kind: word.into(), name: name.into(), uid }))
    }
}

/// Reads the audiences and the lifetime that a request asks for.
fn requested(spec: &Value) -> Result<(Vec<Text>, i64), ApiError> {
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
    let audiences = texts(spec.get("audiences"));
    if audiences.len() > AUDIENCES {
        wrong(
            "spec.audiences",
            &format!("Too many: {}: must have at most {AUDIENCES} items", audiences.len()),
        );
    }
    if !causes.is_empty() {
        return Err(ApiError::invalid(GROUP, KIND, "", causes));
    }
    Ok((audiences, lasts))
}

pub(super) fn texts(list: Option<&Value>) -> Vec<Text> {
    let list = list.and_then(Value::as_array).into_iter().flat_map(|list| list.iter());
    list.filter_map(Value::as_str).map(Text::from).collect()
}
