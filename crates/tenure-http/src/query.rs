//! Query parameters. Errors are reported under the name of the verb's options (`CreateOptions`, `PatchOptions`, …).

use super::request_path::decode;
use memchr::{memchr, memchr2};
use std::num::{IntErrorKind, ParseIntError};
use tenure_meta::{ApiError, FieldError};
use tenure_value::{
    Text, Value,
    go_text::{Quoted, is_printed},
};

/// Decoded query parameters in order.
#[derive(Clone, Debug, Default, Hash)]
pub struct Query(Vec<(Text, Text)>);

/// How unknown and duplicate fields in a body are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValidation {
    /// Drop them silently.
    Ignore,
    /// Drop them with `Warning` headers.
    Warn,
    /// Refuse the request.
    Strict,
}

/// The options that all writes have in common.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// Validate and respond without persisting.
    pub dry_run: bool,
    /// The field manager, if the client names one.
    pub manager: Option<Text>,
    /// How unknown and duplicate fields are treated.
    pub validation: FieldValidation,
}

impl WriteOptions {
    /// Returns the options of the server's own writes.
    pub fn of_server() -> WriteOptions {
        WriteOptions { dry_run: false, manager: None, validation: FieldValidation::Ignore }
    }
}

impl Query {
    /// Parses the query of a URI.
    pub fn parse(text: &str) -> Result<Query, ApiError> {
        // Most queries have nothing to decode, which is found out once.
        let is_plain = memchr2(b'%', b'+', text.as_bytes()).is_none();
        let decoded = |part: &str| match is_plain {
            true => Ok(Text::new(part)),
            false => decode(&part.replace('+', " "))
                .ok_or_else(|| ApiError::bad_request(format!("invalid URL escape in query: {part:?}"))),
        };
        let (mut query, mut rest) = (Vec::new(), text);
        while !rest.is_empty() {
            let (pair, others) = split_at(rest, b'&');
            rest = others;
            if !pair.is_empty() {
                let (name, value) = split_at(pair, b'=');
                query.push((decoded(name)?, decoded(value)?));
            }
        }
        Ok(Query(query))
    }

    /// Sets a parameter, in place of all values that it has.
    pub fn set(&mut self, name: &str, value: Text) {
        self.0.retain(|(parameter, _)| parameter != name);
        self.0.push((name.into(), value));
    }

    /// Returns the first value of a parameter.
    pub fn get(&self, name: &str) -> Option<&Text> {
        self.all(name).next()
    }

    /// Returns the first value of a parameter unless it is empty.
    pub fn given(&self, name: &str) -> Option<&Text> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// Returns every value of a parameter.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &Text> {
        self.0.iter().filter(move |(parameter, _)| parameter == name).map(|(_, value)| value)
    }

    /// Reads a boolean as leniently as Kubernetes does: missing, `false` and `0` are false, everything else is true, an
    /// empty value too.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !value.eq_ignore_ascii_case("false") && value != "0")
    }

    /// Reads an optional boolean.
    pub fn optional_flag(&self, name: &str) -> Option<bool> {
        self.get(name).map(|_| self.flag(name))
    }

    /// Reads an integer.
    pub fn integer(&self, name: &str) -> Result<Option<i64>, ApiError> {
        let parse = |text: &Text| {
            text.parse().map_err(|error: ParseIntError| {
                let why = match error.kind() {
                    IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
                    _ => "invalid syntax",
                };
                ApiError::bad_request(format!("strconv.ParseInt: parsing {}: {why}", Quoted(text)))
            })
        };
        self.given(name).map(parse).transpose()
    }

    /// Reads the options of a write; errors are reported under the name `options`.
    pub fn write_options(&self, options: &'static str) -> Result<WriteOptions, ApiError> {
        self.write_options_with(options, Vec::new())
    }

    /// Reads the options of a write, of which something is wrong already.
    pub fn write_options_with(
        &self,
        options: &'static str,
        mut errors: Vec<FieldError>,
    ) -> Result<WriteOptions, ApiError> {
        let manager = self.given("fieldManager");
        errors.extend(manager.into_iter().flat_map(|manager| manager_errors("fieldManager", manager)));
        let dry_run: Vec<&str> = self.all("dryRun").map(|value| value.as_str()).collect();
        errors.extend(dry_run_error(&dry_run));
        let validation = self.get("fieldValidation").map_or("", |value| value.as_str());
        let validation = match validation {
            "" | "Warn" => FieldValidation::Warn,
            "Strict" => FieldValidation::Strict,
            "Ignore" => FieldValidation::Ignore,
            other => {
                let allowed = ["", "Ignore", "Strict", "Warn"].map(Value::from);
                errors.push(FieldError::not_supported("fieldValidation", &other.into(), &allowed));
                FieldValidation::Warn
            }
        };
        match errors.is_empty() {
            true => Ok(WriteOptions { dry_run: !dry_run.is_empty(), manager: manager.cloned(), validation }),
            false => Err(ApiError::invalid_options(options, &errors)),
        }
    }
}

/// Splits a text at the first of an ASCII character; nothing follows a text without it.
fn split_at(text: &str, at: u8) -> (&str, &str) {
    match memchr(at, text.as_bytes()) {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, ""),
    }
}

/// The longest name of a field manager.
pub const MANAGER_BYTES: usize = 128;

/// Returns the error of the values of `dryRun`, whose only value is `All`.
pub fn dry_run_error(values: &[&str]) -> Option<FieldError> {
    if values.iter().all(|value| *value == "All") {
        return None;
    }
    let given = Value::array(values.iter().map(|value| Value::from(*value)));
    Some(FieldError::not_supported("dryRun", &given, &[Value::from("All")]))
}

/// Returns the errors of the name of a field manager: it is too long, or not printable.
pub fn manager_errors(path: &str, manager: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if manager.len() > MANAGER_BYTES {
        errors.push(FieldError::too_long(path, MANAGER_BYTES as u64));
    }
    for (at, character) in manager.char_indices().filter(|(_, character)| !is_printed(*character)) {
        let detail = format!("invalid character U+{:04X} (at position {at})", character as u32);
        errors.push(FieldError::invalid(path, &manager.into(), detail));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query {
        Query::parse(text).unwrap()
    }

    #[test]
    fn the_first_of_several_values_counts() {
        assert_eq!(query("fieldManager=a&fieldManager=b").get("fieldManager").unwrap(), "a");
        assert_eq!(query("a=1+2%203").get("a").unwrap(), "1 2 3");
    }

    #[test]
    fn flags_are_read_leniently() {
        for (text, want) in [
            ("", false),
            ("force", true),
            ("force=", true),
            ("force=true", true),
            ("force=False", false),
            ("force=0", false),
        ] {
            assert_eq!(query(text).flag("force"), want, "{text}");
        }
    }

    #[test]
    fn dry_run_must_be_all() {
        let dry_run = |text: &str| query(text).write_options("PatchOptions").map(|options| options.dry_run);
        assert!(!dry_run("").unwrap());
        assert!(dry_run("dryRun=All&dryRun=All").unwrap());
        let failure = dry_run("dryRun=Some").unwrap_err();
        assert_eq!(
            failure.message,
            "PatchOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: supported values: \"All\""
        );
        assert!(dry_run("dryRun=").is_err());
    }

    #[test]
    fn a_manager_name_must_be_short_and_printable() {
        let long = "m".repeat(129);
        assert!(query(&format!("fieldManager={long}")).write_options("CreateOptions").is_err());
        assert!(query(&format!("fieldManager={}", &long[1..])).write_options("CreateOptions").is_ok());
        let failure = query("fieldManager=a%07b").write_options("CreateOptions").unwrap_err();
        assert!(failure.message.ends_with("invalid character U+0007 (at position 1)"), "{failure}");
        assert!(query("fieldManager=gr%C3%B6%C3%9Fe%20x").write_options("CreateOptions").is_ok());
    }

    #[test]
    fn all_that_is_wrong_with_options_is_reported() {
        let failure =
            query("fieldManager=a%07&dryRun=x&fieldValidation=y").write_options("UpdateOptions").unwrap_err();
        let fields: Vec<&str> = failure.causes.iter().map(|cause| cause.field.as_str()).collect();
        assert_eq!(fields, ["fieldManager", "dryRun", "fieldValidation"]);
    }

    #[test]
    fn an_integer_is_read_whole() {
        assert_eq!(query("limit=").integer("limit").unwrap(), None);
        for (text, why) in [("x", "invalid syntax"), ("9223372036854775808", "value out of range")] {
            let failure = query(&format!("limit={text}")).integer("limit").unwrap_err();
            assert_eq!(failure.message, format!("strconv.ParseInt: parsing \"{text}\": {why}"));
        }
    }
}
