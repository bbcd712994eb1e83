//! Query parameters. Errors are reported under the name of the verb's options (`CreateOptions`, `PatchOptions`, …).

use super::request_path::decode;
use std::borrow::Cow;
use tenure_meta::ApiError;
use tenure_value::Text;

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
        let decoded = |part: &str| {
            let spaced = if part.contains('+') { Cow::Owned(part.replace('+', " ")) } else { part.into() };
            decode(&spaced)
                .ok_or_else(|| ApiError::bad_request(format!("invalid URL escape in query: {part:?}")))
        };
        text.split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                Ok((decoded(name)?, decoded(value)?))
            })
            .collect::<Result<_, _>>()
            .map(Query)
    }

    /// Sets a parameter, in place of all values that it has.
    pub fn set(&mut self, name: &str, value: Text) {
        self.0.retain(|(of, _)| of != name);
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
        self.0.iter().filter(move |(of, _)| of == name).map(|(_, value)| value)
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
        self.given(name)
            .map(|text| {
                text.parse().map_err(|_| {
                    ApiError::bad_request(format!(
                        "{name}: strconv.ParseInt: parsing {text:?}: invalid syntax; a whole number is needed"
                    ))
                })
            })
            .transpose()
    }

    /// Reads the options of a write; errors are reported under the name `options`.
    pub fn write_options(&self, options: &'static str) -> Result<WriteOptions, ApiError> {
        Ok(WriteOptions {
            dry_run: self.dry_run(options)?,
            manager: self.manager(options)?,
            validation: self.validation(options)?,
        })
    }

    /// Reads `dryRun`, whose only value is `All`.
    pub fn dry_run(&self, options: &str) -> Result<bool, ApiError> {
        check_dry_run(self.all("dryRun").map(|value| value.as_str()), options)
    }

    fn manager(&self, options: &str) -> Result<Option<Text>, ApiError> {
        let Some(manager) = self.given("fieldManager") else { return Ok(None) };
        match manager_fault(manager) {
            Some((reason, message)) => {
                Err(ApiError::invalid_option(options, reason, "fieldManager", message))
            }
            None => Ok(Some(manager.clone())),
        }
    }

    fn validation(&self, options: &str) -> Result<FieldValidation, ApiError> {
        match self.get("fieldValidation").map(Text::as_str) {
            None | Some("" | "Warn") => Ok(FieldValidation::Warn),
            Some("Strict") => Ok(FieldValidation::Strict),
            Some("Ignore") => Ok(FieldValidation::Ignore),
            Some(other) => {
                let message = format!(
                    "Unsupported value: {other:?}: supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""
                );
                Err(ApiError::invalid_option(options, "FieldValueNotSupported", "fieldValidation", message))
            }
        }
    }
}

/// The longest name of a field manager.
pub const MANAGER_BYTES: usize = 128;

/// Checks the values of `dryRun`, from a query or a body.
pub fn check_dry_run<'a>(values: impl Iterator<Item = &'a str>, options: &str) -> Result<bool, ApiError> {
    let values: Vec<&str> = values.collect();
    if values.iter().all(|value| *value == "All") {
        return Ok(!values.is_empty());
    }
    let given = values.iter().map(|value| format!("{value:?}")).collect::<Vec<_>>().join(",");
    let message = format!("Unsupported value: [{given}]: supported values: \"All\"");
    Err(ApiError::invalid_option(options, "FieldValueNotSupported", "dryRun", message))
}

/// Returns reason and message if the name of a field manager is too long or not printable.
pub fn manager_fault(manager: &str) -> Option<(&'static str, String)> {
    if manager.len() > MANAGER_BYTES {
        return Some(("FieldValueTooLong", format!("Too long: may not be more than {MANAGER_BYTES} bytes")));
    }
    let is_printable =
        |character: char| character == ' ' || !(character.is_control() || character.is_whitespace());
    let (at, character) = manager.chars().enumerate().find(|(_, character)| !is_printable(*character))?;
    let character = character as u32;
    let message =
        format!("Invalid value: {manager:?}: invalid character U+{character:04X} (at position {at})");
    Some(("FieldValueInvalid", message))
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
        assert!(!query("").dry_run("PatchOptions").unwrap());
        assert!(query("dryRun=All&dryRun=All").dry_run("PatchOptions").unwrap());
        let failure = query("dryRun=Some").dry_run("PatchOptions").unwrap_err();
        assert_eq!(
            failure.message,
            "PatchOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: supported values: \"All\""
        );
        assert!(query("dryRun=").dry_run("PatchOptions").is_err());
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
    fn an_invalid_integer_names_its_parameter() {
        let failure = query("limit=x").integer("limit").unwrap_err();
        assert!(failure.message.contains("limit") && failure.message.contains("\"x\""), "{failure}");
    }
}
