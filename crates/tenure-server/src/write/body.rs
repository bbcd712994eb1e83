//! Reads the body of a request into a document, in whichever format it came, and collects what strict
//! validation complains of: fields that stand twice.

use crate::{Encoding, Failure, protobuf, target::Target, write::strict_decoding::Complaints};
use bytes::Bytes;
use tenure_value::{Duplicate, Limits, Value, json, yaml};

/// How large, deep and rich a body may be.
pub(crate) const LIMITS: Limits = Limits { bytes: 3 * 1024 * 1024, depth: 200, nodes: 400_000 };

/// A document and what was odd about its text.
#[derive(Debug)]
pub(crate) struct Read {
    pub value: Value,
    /// `duplicate field "metadata.name"` and the like.
    pub strict_errors: Vec<String>,
}

impl Read {
    /// Returns what is odd about the text, for a body that stands for an object.
    pub fn about(&self, target: &Target, text: &Bytes, encoding: Encoding) -> Complaints {
        let typed = encoding == Encoding::Json && !target.served.is_custom();
        Complaints { duplicates: self.strict_errors.clone(), text: typed.then(|| text.clone()) }
    }
}

/// Reads a document that stands for an object of a kind.
pub(crate) fn read(bytes: &Bytes, encoding: Encoding, kind: &str) -> Result<Read, Failure> {
    parse(bytes, encoding).map_err(|why| {
        Failure::bad_request(format!("the object provided is unrecognized (must be of type {kind}): {why}"))
    })
}

/// Reads a document; an error says what is wrong and where.
pub(crate) fn parse(bytes: &Bytes, encoding: Encoding) -> Result<Read, String> {
    let (value, duplicates) = match encoding {
        Encoding::Json => {
            check_text(bytes)?;
            json::parse_checked(bytes, &LIMITS).map_err(|error| format!("json parse error: {error}"))?
        }
        Encoding::Yaml => {
            yaml::parse_any_checked(bytes, &LIMITS).map_err(|error| yaml::error_message(&error))?
        }
        Encoding::Protobuf => {
            let value = protobuf::decode(bytes, &LIMITS).map_err(|error| format!("protobuf: {error}"))?;
            return Ok(Read { value, strict_errors: Vec::new() });
        }
    };
    let strict_errors =
        duplicates.iter().map(|duplicate| format!("duplicate field {:?}", duplicate.path())).collect();
    Ok(Read { value: as_read_by_clients(value), strict_errors })
}

/// Checks that a body is text; what is none would be stored as something else than was sent.
fn check_text(bytes: &[u8]) -> Result<(), String> {
    std::str::from_utf8(bytes)
        .map(|_| ())
        .map_err(|error| format!("json parse error: invalid UTF-8 at byte {}", error.valid_up_to()))
}

/// Reads the configuration of an apply, which is YAML or JSON; names given twice are told with their line.
pub(crate) fn parse_applied(bytes: &Bytes) -> Result<Read, String> {
    let (value, duplicates) = yaml::parse_any_checked(bytes, &LIMITS)
        .map_err(|error| format!("error converting YAML to JSON: {}", yaml::error_message(&error)))?;
    let told = |duplicate: &Duplicate| {
        format!("line {}: key {:?} already set in map", duplicate.again.line, duplicate.name)
    };
    Ok(Read { value: as_read_by_clients(value), strict_errors: duplicates.iter().map(told).collect() })
}

/// An integer above the signed range is a float to every client that reads JSON as Kubernetes does.
fn as_read_by_clients(value: Value) -> Value {
    match &value {
        Value::UInt(number) => Value::float(number.get() as f64).unwrap_or_default(),
        _ => value,
    }
}
