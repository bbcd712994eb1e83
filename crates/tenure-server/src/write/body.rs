//! The body of a request: parsed from its format into a document, and decoded into an object of its kind.

use super::{
    metadata_checks,
    request::{Body, WriteRequest},
    strict_decoding::TextErrors,
};
use bytes::Bytes;
use tenure_apply::State;
use tenure_catalog::{
    Target,
    object::{Stored, bare, meta_text, metadata, with_metadata},
};
use tenure_http::{Encoding, FieldValidation};
use tenure_meta::{ApiError, DecodeError, Decoded, Scope};
use tenure_protobuf;
use tenure_value::{Duplicate, Limits, Value, json, yaml};

/// The limits of a body.
pub(crate) const LIMITS: Limits = Limits { bytes: 3 * 1024 * 1024, depth: 200, nodes: 400_000 };

/// A document and the errors in its text.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub value: Value,
    /// `duplicate field "metadata.name"` and the like.
    pub duplicates: Vec<String>,
}

impl Parsed {
    /// Returns the errors in the text of an object.
    pub fn errors(&self, target: &Target, text: &Bytes, encoding: Encoding) -> TextErrors {
        let typed = encoding == Encoding::Json && !target.handler.is_custom();
        TextErrors { duplicates: self.duplicates.clone(), text: typed.then(|| text.clone()) }
    }
}

/// Parses a body that is an object of a kind.
pub(crate) fn read(bytes: &Bytes, encoding: Encoding, kind: &str) -> Result<Parsed, ApiError> {
    parse(bytes, encoding).map_err(|why| {
        ApiError::bad_request(format!("the object provided is unrecognized (must be of type {kind}): {why}"))
    })
}

/// Parses a document.
pub(crate) fn parse(bytes: &Bytes, encoding: Encoding) -> Result<Parsed, String> {
    let (value, duplicates) = match encoding {
        Encoding::Json => {
            check_text(bytes)?;
            json::parse_checked(bytes, &LIMITS).map_err(|error| format!("json parse error: {error}"))?
        }
        Encoding::Yaml => {
            yaml::parse_any_checked(bytes, &LIMITS).map_err(|error| yaml::error_message(&error))?
        }
        Encoding::Protobuf => {
            let value =
                tenure_protobuf::decode(bytes, &LIMITS).map_err(|error| format!("protobuf: {error}"))?;
            return Ok(Parsed { value, duplicates: Vec::new() });
        }
    };
    let duplicates =
        duplicates.iter().map(|duplicate| format!("duplicate field {:?}", duplicate.path())).collect();
    Ok(Parsed { value: as_clients_read(value), duplicates })
}

/// Checks that a body is UTF-8; anything else would be stored differently from what was sent.
fn check_text(bytes: &[u8]) -> Result<(), String> {
    std::str::from_utf8(bytes)
        .map(|_| ())
        .map_err(|error| format!("json parse error: invalid UTF-8 at byte {}", error.valid_up_to()))
}

/// Parses an apply configuration, which is YAML or JSON; duplicate keys are reported with their lines.
pub(crate) fn parse_applied(bytes: &Bytes) -> Result<Parsed, String> {
    let (value, duplicates) = yaml::parse_any_checked(bytes, &LIMITS)
        .map_err(|error| format!("error converting YAML to JSON: {}", yaml::error_message(&error)))?;
    let describe = |duplicate: &Duplicate| {
        format!("line {}: key {:?} already set in map", duplicate.again.line, duplicate.name)
    };
    Ok(Parsed { value: as_clients_read(value), duplicates: duplicates.iter().map(describe).collect() })
}

/// An integer above the signed range is a float to every client that reads JSON as Kubernetes does.
fn as_clients_read(value: Value) -> Value {
    match &value {
        Value::UInt(number) => Value::float(number.get() as f64).unwrap_or_default(),
        _ => value,
    }
}

impl WriteRequest<'_> {
    /// Decodes a document that replaces the live object, if there is one; `errors` are those found in its text.
    pub fn decode(
        &self,
        document: &Value,
        live: Option<&Stored>,
        errors: &TextErrors,
    ) -> Result<Body, ApiError> {
        let mut warnings = Vec::new();
        metadata_checks::check(document)?;
        let object = self.decode_object(&bare(document), live, errors, &mut warnings)?;
        Ok(Body {
            object,
            managers: document.at(["metadata", "managedFields"]).cloned(),
            version: meta_text(document, "resourceVersion").into(),
            warnings,
        })
    }

    /// Decodes a body and sets defaults.
    fn decode_object(
        &self,
        body: &Value,
        live: Option<&Stored>,
        errors: &TextErrors,
        warnings: &mut Vec<String>,
    ) -> Result<Value, ApiError> {
        let body = self.without_foreign_namespace(body);
        let decoded = self.target.handler.decode(&body, live.map(|live| &live.object), self.now);
        self.check_strict(&body, decoded, errors, warnings)
    }

    /// Sets the defaults of what an apply produced.
    pub(super) fn default_applied(
        &self,
        state: State,
        live: Option<&Stored>,
        warnings: &mut Vec<String>,
    ) -> Result<State, ApiError> {
        let object = self.without_foreign_namespace(&state.object);
        let decoded = self.target.handler.decode_applied(&object, live.map(|live| &live.object), self.now);
        let object = self.check_strict(&object, decoded, &TextErrors::default(), warnings)?;
        Ok(State { object, ..state })
    }

    /// Returns a body of a cluster-scoped kind without the namespace that it may name.
    pub(super) fn without_foreign_namespace(&self, body: &Value) -> Value {
        let scoped = metadata(body);
        match self.target.handler.resource.scope {
            Scope::Cluster if scoped.get("namespace").is_some_and(|given| given.as_str().is_some()) => {
                with_metadata(body, scoped.without("namespace"))
            }
            _ => body.clone(),
        }
    }

    /// Ignores, warns of or refuses unknown and duplicate fields, as the request asks.
    fn check_strict(
        &self,
        body: &Value,
        decoded: Result<Decoded, Box<DecodeError>>,
        errors: &TextErrors,
        warnings: &mut Vec<String>,
    ) -> Result<Value, ApiError> {
        let handler = &self.target.handler;
        let decoded = decoded.map_err(|error| handler.cannot_handle(body, &error.to_string()))?;
        match self.options.validation {
            _ if decoded.strict_errors.is_empty() && errors.duplicates.is_empty() => {}
            FieldValidation::Ignore => {}
            FieldValidation::Warn => warnings.extend(errors.with(decoded.strict_errors)),
            FieldValidation::Strict => {
                let all = errors.with(decoded.strict_errors);
                let why = format!("strict decoding error: {}", all.join(", "));
                return Err(handler.cannot_handle(body, &why));
            }
        }
        warnings.extend(decoded.warnings);
        Ok(decoded.value)
    }
}
