//! The body of a request: parsed from its format into a document, and decoded into an object of its kind.

use super::{
    go_conversion::{conversion_error, not_converted},
    integers::fitted,
    metadata_checks,
    request::{Body, WriteRequest},
    unrecognized::{type_meta_error, unrecognized},
};
use bytes::Bytes;
use memchr::memmem::Finder;
use std::sync::LazyLock;
use tenure_apply::State;
use tenure_builtin::Kinds;
use tenure_catalog::{
    Target,
    object::{Stored, bare, meta_text, metadata, with_metadata},
};
use tenure_fields::fields_v1::without_trailing_text;
use tenure_http::{Encoding, FieldValidation, Request, TextErrors, negotiation::essence};
use tenure_meta::{ApiError, DecodeError, Decoded, Scope};
use tenure_profile::{Behaviour, Improvement, Profile};
use tenure_value::{Duplicate, Limits, Value, json, yaml};

/// The limits of a body.
pub(crate) const LIMITS: Limits = Limits { bytes: 3 * 1024 * 1024, depth: Limits::DEPTH, nodes: 400_000 };

/// The content type of an apply configuration in CBOR.
pub(crate) const APPLY_CBOR: &str = "application/apply-patch+cbor";

/// A document and the errors in its text.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub value: Value,
    /// `duplicate field "metadata.name"`, or for YAML `line 5: key "name" already set in map`.
    pub duplicates: Vec<String>,
}

impl Parsed {
    /// Returns the errors in the text of an object.
    pub fn errors(&self, target: &Target, text: &Bytes, encoding: Encoding) -> TextErrors {
        let errors = self.typed_errors(text, encoding);
        TextErrors { text: errors.text.filter(|_| !target.handler.is_custom()), ..errors }
    }

    /// Returns the errors in the text of an object of a built-in type.
    pub fn typed_errors(&self, text: &Bytes, encoding: Encoding) -> TextErrors {
        TextErrors {
            duplicates: self.duplicates.clone(),
            text: (encoding == Encoding::Json).then(|| text.clone()),
            is_yaml: encoding == Encoding::Yaml,
        }
    }
}

/// Why a document is not an object of its kind.
#[derive(Debug)]
pub(super) struct Undecodable {
    /// What is wrong.
    pub why: String,
    /// Whether unknown or duplicate fields are all that is wrong.
    pub is_strict: bool,
}

impl From<String> for Undecodable {
    fn from(why: String) -> Undecodable {
        Undecodable { why, is_strict: false }
    }
}

/// Parses a body that is an object of a kind.
pub(crate) fn read(bytes: &Bytes, encoding: Encoding, kind: &str) -> Result<Parsed, ApiError> {
    let parsed = parse(bytes, encoding).map_err(|why| match encoding {
        Encoding::Json => format!("couldn't get version/kind; json parse error: {why}"),
        Encoding::Yaml | Encoding::Cbor | Encoding::Protobuf => why,
    });
    let readable = parsed.and_then(|parsed| match type_meta_error(&parsed.value) {
        Some(why) => Err(why),
        None => Ok(parsed),
    });
    readable.map_err(|why| {
        let refused = unrecognized(kind, &why, bytes);
        match encoding == Encoding::Protobuf && !bytes.starts_with(tenure_codec::protobuf::MAGIC) {
            true => refused.or_in_kubernetes(unrecognized(kind, NO_PROTOBUF, bytes)),
            false => refused,
        }
    })
}

/// Parses a body whose kind the request does not depend on.
pub(crate) fn read_unnamed(bytes: &Bytes, encoding: Encoding) -> Result<Value, ApiError> {
    let why = match parse(bytes, encoding) {
        Ok(parsed) => match type_meta_error(&parsed.value) {
            None => return Ok(parsed.value),
            Some(why) => why,
        },
        Err(why) => format!("couldn't get version/kind; json parse error: {why}"),
    };
    Err(ApiError::bad_request(why))
}

/// Parses a document.
pub(crate) fn parse(bytes: &Bytes, encoding: Encoding) -> Result<Parsed, String> {
    let (value, duplicates) = match encoding {
        Encoding::Json => {
            check_text(bytes)?;
            json::parse_checked(bytes, &LIMITS).map_err(|error| error.problem())?
        }
        Encoding::Yaml => return parse_yaml(bytes, Documents::One),
        // A duplicate key is an error in CBOR, however strict the request is.
        Encoding::Cbor => {
            let value =
                tenure_codec::cbor::decode(bytes, &LIMITS).map_err(|error| format!("cbor: {error}"))?;
            return Ok(Parsed { value, duplicates: Vec::new() });
        }
        Encoding::Protobuf => {
            let value = tenure_codec::protobuf::decode(bytes, &LIMITS)
                .map_err(|error| format!("protobuf: {error}"))?;
            return Ok(Parsed { value, duplicates: Vec::new() });
        }
    };
    let duplicates =
        duplicates.iter().map(|duplicate| format!("duplicate field {:?}", duplicate.path())).collect();
    Ok(Parsed { value, duplicates })
}

/// Why a body without its prefix is not protobuf, in the words of Kubernetes.
const NO_PROTOBUF: &str =
    "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";

/// How many documents a YAML text may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Documents {
    /// One; a second one is an error, since nothing would be done with it.
    One,
    /// Any number, of which the first counts, as in Kubernetes.
    First,
}

/// Parses YAML, or JSON that is sent as such; duplicate keys are reported with their lines.
fn parse_yaml(bytes: &[u8], documents: Documents) -> Result<Parsed, String> {
    let parsed = match (yaml::parse_json_checked(bytes, &LIMITS), documents) {
        (Some(parsed), _) => parsed,
        (None, Documents::First) => yaml::parse_any_checked(first_document(bytes), &LIMITS),
        (None, Documents::One) if first_document(bytes).len() == bytes.len() => {
            yaml::parse_checked(bytes, &LIMITS)
        }
        (None, Documents::One) => match yaml::parse_all_checked(bytes, &LIMITS) {
            Ok((documents, _)) if documents.len() > 1 => {
                let count = documents.len();
                return Err(format!("expected one YAML document, got {count}; send a request for each"));
            }
            Ok((documents, duplicates)) => Ok((documents.into_iter().next().unwrap_or_default(), duplicates)),
            Err(error) => Err(error),
        },
    };
    let (value, duplicates) = parsed.map_err(|error| yaml::error_message(&error))?;
    let describe = |duplicate: &Duplicate| {
        format!("line {}: key {:?} already set in map", duplicate.again.line, duplicate.name)
    };
    Ok(Parsed { value, duplicates: duplicates.iter().map(describe).collect() })
}

/// Returns the text of the first document: what comes before a line that begins the next one.
fn first_document(bytes: &[u8]) -> &[u8] {
    static MARKER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\n---"));
    let is_content = |line: &[u8]| {
        let line = line.trim_ascii_start();
        !line.is_empty() && !line.starts_with(b"#") && !line.starts_with(b"%") && line != b"---"
    };
    let mut start = 0;
    for at in MARKER.find_iter(bytes) {
        if bytes.get(at + 4).is_none_or(u8::is_ascii_whitespace) {
            if bytes[start..at].split(|byte| *byte == b'\n').any(is_content) {
                return &bytes[..at + 1];
            }
            start = at + 1;
        }
    }
    bytes
}

/// Checks that a body is UTF-8; anything else would be stored differently from what was sent.
fn check_text(bytes: &[u8]) -> Result<(), String> {
    std::str::from_utf8(bytes)
        .map(|_| ())
        .map_err(|error| format!("invalid UTF-8 at byte {}", error.valid_up_to()))
}

/// Parses an apply configuration, which is YAML, JSON or CBOR.
pub(crate) fn parse_applied(
    request: &Request,
    documents: Documents,
    profile: Profile,
) -> Result<Parsed, ApiError> {
    let is_patch = profile.behaves(Behaviour::PatchesDecodedFirst);
    let parsed = match request.content_type().map(essence).as_deref() {
        Some(APPLY_CBOR) => {
            let word = if is_patch { "patch" } else { "CBOR" };
            parse(&request.body, Encoding::Cbor).map_err(|why| format!("error decoding {word}: {why}"))
        }
        _ => parse_yaml(&request.body, documents).map_err(|why| match is_patch {
            true => format!("error encoding patch: {why}"),
            false => format!("error decoding YAML: error converting YAML to JSON: {why}"),
        }),
    };
    parsed.map_err(ApiError::bad_request)
}

impl WriteRequest<'_> {
    /// Returns a document as the server reads it: Kubernetes takes integers above the signed range for floats.
    pub(super) fn as_read(&self, document: &Value) -> Value {
        match self.profile.has(Improvement::KeepLargeIntegers) {
            true => document.clone(),
            false => document.with_float_integers().unwrap_or_else(|| document.clone()),
        }
    }

    /// Decodes a document that replaces the live object, if there is one; `errors` are those found in its text.
    pub fn decode(
        &self,
        document: &Value,
        live: Option<&Stored>,
        errors: &TextErrors,
    ) -> Result<Body, ApiError> {
        let decoded = self.try_decode(document, live, errors);
        decoded.map_err(|error| self.target.handler.cannot_handle(document, &error.why))
    }

    /// Decodes a document as [`WriteRequest::decode`] does; the error says what is wrong with it.
    pub(super) fn try_decode(
        &self,
        document: &Value,
        live: Option<&Stored>,
        errors: &TextErrors,
    ) -> Result<Body, Undecodable> {
        let mut warnings = Vec::new();
        metadata_checks::check(document).map_err(|error| error.to_string())?;
        let sent = bare(&self.as_read(document));
        let object = self.decode_object(&sent, live, errors, &mut warnings).map_err(|error| {
            // An error quotes a number as it is written.
            let as_written = (!self.profile.has(Improvement::KeepLargeIntegers))
                .then(|| self.decode_object(&bare(document), live, errors, &mut Vec::new()));
            as_written.and_then(Result::err).unwrap_or(error)
        })?;
        Ok(Body {
            object,
            sent,
            managers: self.sent_managers(document),
            version: meta_text(document, "resourceVersion").into(),
            warnings,
        })
    }

    /// Returns the managers that a document names.
    fn sent_managers(&self, document: &Value) -> Option<Value> {
        let managers = document.at(["metadata", "managedFields"])?;
        let entries = match managers.as_array() {
            Some(entries) if !self.profile.behaves(Behaviour::StrictFieldSets) => entries,
            _ => return Some(managers.clone()),
        };
        let readable = |entry: &Value| match entry.get("fieldsV1").and_then(without_trailing_text) {
            Some(fields) => {
                entry.as_object().map_or(Value::Null, |entry| entry.with("fieldsV1", fields).into())
            }
            None => entry.clone(),
        };
        Some(Value::array(entries.iter().map(readable)))
    }

    /// Decodes a body and sets defaults.
    fn decode_object(
        &self,
        body: &Value,
        live: Option<&Stored>,
        errors: &TextErrors,
        warnings: &mut Vec<String>,
    ) -> Result<Value, Undecodable> {
        let body = self.without_foreign_namespace(body);
        let decoded = self.target.handler.decode(&body, live.map(|live| &live.object), self.now);
        self.check_strict(decoded, errors, warnings)
    }

    /// Sets the defaults of what an apply produced.
    pub(super) fn default_applied(
        &self,
        state: State,
        live: Option<&Stored>,
        warnings: &mut Vec<String>,
    ) -> Result<State, ApiError> {
        let object = self.without_foreign_namespace(&state.object);
        let handler = &self.target.handler;
        let mut decode = |object: &Value| {
            let decoded = handler.decode_applied(object, live.map(|live| &live.object), self.now);
            self.check_strict(decoded, &TextErrors::default(), warnings)
        };
        match decode(&object).or_else(|error| {
            fitted(&object, handler.type_ref(), handler, self.profile)
                .map_or(Err(error), |fitted| decode(&fitted))
        }) {
            Ok(object) => Ok(State { object, ..state }),
            Err(error) => {
                let refused = handler.cannot_handle(&object, &error.why);
                if error.is_strict || handler.is_custom() {
                    return Err(refused);
                }
                let resource = &handler.resource;
                let why = conversion_error(&object, handler.type_ref(), Kinds::at(self.profile.version()))
                    .unwrap_or(error.why);
                let kind = format!("{}/{}, Kind={}", resource.group, resource.version, resource.kind);
                Err(refused.or_in_kubernetes(not_converted(&self.described(), &kind, &why)))
            }
        }
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
        decoded: Result<Decoded, Box<DecodeError>>,
        errors: &TextErrors,
        warnings: &mut Vec<String>,
    ) -> Result<Value, Undecodable> {
        let decoded = decoded.map_err(|error| error.to_string())?;
        match self.options.validation {
            _ if decoded.strict_errors.is_empty() && errors.duplicates.is_empty() => {}
            FieldValidation::Ignore => {}
            FieldValidation::Warn => warnings.extend(errors.with(decoded.strict_errors)),
            FieldValidation::Strict => {
                let why = format!("strict decoding error: {}", errors.joined(decoded.strict_errors));
                return Err(Undecodable { why, is_strict: true });
            }
        }
        warnings.extend(decoded.warnings);
        Ok(decoded.value)
    }
}
