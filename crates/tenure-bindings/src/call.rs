//! Every engine by its name, with named arguments in one document: all that a package has to convert. Arguments are checked here, so
//! that they mean the same in every language.

use crate::{
    Applied, Error, Planned, Profile, Types, Value, Writing,
    apply::{apply, update},
    compatibility::profile,
    fields::{self, Encoded},
    ownership::{blame, plan, why},
    patch::{self, Typed},
};
use std::collections::BTreeSet;
use tenure_value::{Object, Text, base64};

/// Calls an engine. Arguments that are missing or `null` have their defaults; the result is a document.
///
/// ```
/// use tenure_bindings::{Types, call};
///
/// let arguments = r#"{"live": {"a": 1}, "patch": {"a": null, "b": 2}}"#.parse().unwrap();
/// assert_eq!(call("patch.json_merge", &arguments, &Types::builtin())?.to_string(), r#"{"b":2}"#);
/// # Ok::<(), tenure_bindings::Error>(())
/// ```
pub fn call(name: &str, arguments: &Value, types: &Types) -> Result<Value, Error> {
    // What is wrong with the name is reported where it is read.
    let version = arguments.get("compatibility").and_then(Value::as_str).and_then(|name| profile(name).ok());
    let types = &types.at(version.unwrap_or_default().version());
    let call = Call { types, with: Arguments::of(arguments)? };
    match name {
        "patch.strategic_merge" => call.strategic_merge(),
        "patch.two_way" => call.two_way(),
        "patch.three_way" => call.three_way(),
        "patch.json_merge" => call.json_merge(),
        "patch.json_patch" => call.json_patch(),
        "patch.json_merge_diff" => call.diff(patch::json_merge_diff),
        "patch.json_patch_diff" => call.diff(patch::json_patch_diff),
        "patch.lint" => call.lint(),
        "apply" => call.apply(),
        "update" => call.update(),
        "blame" => call.blame(),
        "why" => call.why(),
        "plan" => call.plan(),
        "fields.encode" => call.encode(),
        "fields.decode" => call.decode(),
        "fields.paths" => call.paths(),
        "fields.from_paths" => call.set_of_paths(),
        "fields.compact" => call.managed_fields(fields::compact),
        "fields.expand" => call.managed_fields(fields::expand),
        other => Err(Error::argument(format!("there is no function {other:?}"))),
    }
}

struct Call<'v> {
    types: &'v Types,
    with: Arguments<'v>,
}

impl<'v> Call<'v> {
    fn strategic_merge(mut self) -> Result<Value, Error> {
        let (live, patch) = (self.with.value("live")?, self.with.value("patch")?);
        let order = self.with.text("order")?.unwrap_or("kubernetes");
        patch::strategic_merge(live, patch, order, &self.typed()?)
    }

    fn two_way(mut self) -> Result<Value, Error> {
        let (original, modified) = (self.with.value("original")?, self.with.value("modified")?);
        let keys = self.with.text("keys")?.unwrap_or("merge");
        patch::two_way(original, modified, keys, &self.typed()?)
    }

    fn three_way(mut self) -> Result<Value, Error> {
        let (last, modified) = (self.with.optional("last_applied"), self.with.value("modified")?);
        let (live, overwrite) = (self.with.value("live")?, self.with.flag("overwrite")?);
        let keys = self.with.text("keys")?.unwrap_or("merge");
        patch::three_way(last, modified, live, overwrite, keys, &self.typed()?)
    }

    fn json_merge(mut self) -> Result<Value, Error> {
        let (live, patch) = (self.with.value("live")?, self.with.value("patch")?);
        let dialect = self.with.text("dialect")?.unwrap_or("kubernetes");
        self.with.end()?;
        patch::json_merge(live, patch, dialect)
    }

    fn json_patch(mut self) -> Result<Value, Error> {
        let (live, operations) = (self.with.value("live")?, self.with.value("operations")?);
        let dialect = self.with.text("dialect")?.unwrap_or("kubernetes");
        self.with.end()?;
        patch::json_patch(live, operations, dialect)
    }

    fn diff(mut self, calculate: impl Fn(&Value, &Value) -> Value) -> Result<Value, Error> {
        let (original, modified) = (self.with.value("original")?, self.with.value("modified")?);
        self.with.end()?;
        Ok(calculate(original, modified))
    }

    fn lint(mut self) -> Result<Value, Error> {
        let (document, manifest) = (self.with.value("document")?, self.with.flag("manifest")?);
        patch::lint(document, manifest, &self.typed()?)
    }

    /// Reads what all strategic merges have in common.
    fn typed(mut self) -> Result<Typed<'v>, Error> {
        let kind = self.with.text("kind")?;
        let profile = self.profile()?;
        self.with.end()?;
        Ok(Typed { types: self.types, kind, profile })
    }

    fn profile(&mut self) -> Result<Profile, Error> {
        profile(self.with.text("compatibility")?.unwrap_or("kubernetes"))
    }

    fn apply(mut self) -> Result<Value, Error> {
        let (live, config) = (self.with.optional("live"), self.with.value("config")?);
        let (force, paths) = (self.with.flag("force")?, self.with.texts("force_paths")?);
        let applied = apply(live, config, force, &paths, &self.writing()?)?;
        Ok(written(applied))
    }

    fn update(mut self) -> Result<Value, Error> {
        let (live, object) = (self.with.optional("live"), self.with.value("object")?);
        let applied = update(live, object, &self.writing()?)?;
        Ok(written(applied))
    }

    fn writing(mut self) -> Result<Writing<'v>, Error> {
        let writing = Writing {
            manager: self.with.required("manager")?,
            subresource: self.with.text("subresource")?.unwrap_or_default(),
            time: self.with.text("time")?,
            types: self.types,
            profile: self.profile()?,
        };
        self.with.end()?;
        Ok(writing)
    }

    fn blame(mut self) -> Result<Value, Error> {
        let live = self.with.value("live")?;
        self.with.end()?;
        blame(live, self.types)
    }

    fn why(mut self) -> Result<Value, Error> {
        let (live, path) = (self.with.value("live")?, self.with.required("path")?);
        let time = self.with.text("time")?;
        let profile = self.profile()?;
        self.with.end()?;
        why(live, path, time, self.types, profile)
    }

    fn plan(mut self) -> Result<Value, Error> {
        let (live, config) = (self.with.optional("live"), self.with.value("config")?);
        let force_paths = self.with.texts("force_paths")?;
        let planned = Planned {
            manager: self.with.required("manager")?,
            force: self.with.flag("force")?,
            force_paths: &force_paths,
            time: self.with.text("time")?,
            types: self.types,
            profile: self.profile()?,
        };
        self.with.end()?;
        plan(live, config, &planned)
    }

    fn encode(mut self) -> Result<Value, Error> {
        let (document, form) = (self.with.value("fields")?, self.with.text("form")?.unwrap_or("binary"));
        self.with.end()?;
        Ok(match fields::encode(document, form)? {
            Encoded::Text(text) => Value::object([("text", Value::from(text))]),
            Encoded::Bytes(bytes) => Value::object([("base64", Value::from(base64::encode(bytes)))]),
        })
    }

    fn decode(mut self) -> Result<Value, Error> {
        let (text, encoded) = (self.with.text("text")?, self.with.text("base64")?);
        self.with.end()?;
        let bytes = match (text, encoded) {
            (Some(text), None) => text.as_bytes().to_vec(),
            (None, Some(encoded)) => base64::decode(encoded)
                .map_err(|at| Error::argument(format!("base64: an invalid character at {at}")))?,
            _ => return Err(Error::argument("give either text or bytes")),
        };
        fields::decode(&bytes)
    }

    fn paths(mut self) -> Result<Value, Error> {
        let set = self.with.value("fields")?;
        self.with.end()?;
        Ok(Value::array(fields::paths(set)?.into_iter().map(Value::from)))
    }

    fn set_of_paths(mut self) -> Result<Value, Error> {
        let paths = self.with.texts("paths")?;
        self.with.end()?;
        fields::from_paths(&paths)
    }

    fn managed_fields(mut self, convert: impl Fn(&Value) -> Result<Value, Error>) -> Result<Value, Error> {
        let managers = self.with.value("managed_fields")?;
        self.with.end()?;
        convert(managers)
    }
}

fn written(applied: Applied) -> Value {
    Value::object([("object", applied.object), ("changed", Value::from(applied.changed))])
}

/// The arguments of a call.
pub(crate) struct Arguments<'v> {
    object: &'v Object,
    /// The names that were asked for.
    known: BTreeSet<&'static str>,
}

impl<'v> Arguments<'v> {
    pub fn of(arguments: &'v Value) -> Result<Arguments<'v>, Error> {
        let object = arguments.as_object();
        let object = object.ok_or_else(|| Error::argument("the arguments must be an object"))?;
        Ok(Arguments { object, known: BTreeSet::new() })
    }

    /// Returns an argument; `None` if it is missing or `null`.
    pub fn optional(&mut self, name: &'static str) -> Option<&'v Value> {
        self.known.insert(name);
        self.object.get(name).filter(|value| !value.is_null())
    }

    pub fn value(&mut self, name: &'static str) -> Result<&'v Value, Error> {
        self.known.insert(name);
        self.object.get(name).ok_or_else(|| Error::argument(format!("{name} is missing")))
    }

    pub fn text(&mut self, name: &'static str) -> Result<Option<&'v str>, Error> {
        let text = |value: &'v Value| value.as_str().ok_or_else(|| wrong(name, value, "a string"));
        self.optional(name).map(text).transpose()
    }

    pub fn required(&mut self, name: &'static str) -> Result<&'v str, Error> {
        self.text(name)?.ok_or_else(|| Error::argument(format!("{name} is missing; it must be a string")))
    }

    pub fn flag(&mut self, name: &'static str) -> Result<bool, Error> {
        let flag = |value: &'v Value| value.as_bool().ok_or_else(|| wrong(name, value, "true or false"));
        Ok(self.optional(name).map(flag).transpose()?.unwrap_or_default())
    }

    pub fn number(&mut self, name: &'static str) -> Result<Option<u64>, Error> {
        let read = |value: &'v Value| match value {
            Value::UInt(number) => Some(number.get()),
            other => other.as_i64().and_then(|number| u64::try_from(number).ok()),
        };
        let number =
            |value: &'v Value| read(value).ok_or_else(|| wrong(name, value, "a whole number of at least 0"));
        self.optional(name).map(number).transpose()
    }

    pub fn values(&mut self, name: &'static str) -> Result<Vec<Value>, Error> {
        let list = |value: &'v Value| match value {
            Value::Array(items) => Ok(items.to_vec()),
            other => Err(wrong(name, other, "a list")),
        };
        Ok(self.optional(name).map(list).transpose()?.unwrap_or_default())
    }

    pub fn texts(&mut self, name: &'static str) -> Result<Vec<String>, Error> {
        let items = self.values(name)?;
        let text = |item: &Value| {
            item.as_str().map(str::to_owned).ok_or_else(|| wrong(name, item, "a list of strings"))
        };
        items.iter().map(text).collect()
    }

    /// Refuses arguments that were not asked for.
    pub fn end(&self) -> Result<(), Error> {
        let unknown: Option<&Text> =
            self.object.iter().map(|(name, _)| name).find(|name| !self.known.contains(name.as_str()));
        match unknown {
            None => Ok(()),
            Some(name) => {
                let known: Vec<&str> = self.known.iter().copied().collect();
                Err(Error::argument(format!("unknown argument {name:?}; known are {}", known.join(", "))))
            }
        }
    }
}

fn wrong(name: &str, value: &Value, right: &str) -> Error {
    Error::argument(format!("{name} has a value of type {}; it must be {right}", value.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn run(name: &str, arguments: &str) -> Result<String, Error> {
        call(name, &arguments.parse().unwrap(), &Types::builtin()).map(|value| value.to_string())
    }

    #[test]
    fn engines_are_called_by_name() {
        let config = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}"#;
        let fields = r#"{"f:data":{"f:k":{}}}"#;
        for (name, arguments, part) in [
            ("apply", format!(r#"{{"live":null,"config":{config},"manager":"m"}}"#), r#""changed":true"#),
            (
                "update",
                format!(r#"{{"object":{config},"manager":"m","time":"2026-01-01T00:00:00Z"}}"#),
                r#""time":"2026-01-01T00:00:00Z""#,
            ),
            ("blame", format!(r#"{{"live":{config}}}"#), r#"".data.k""#),
            ("why", format!(r#"{{"live":{config},"path":".data.k"}}"#), r#""value":"v""#),
            ("plan", format!(r#"{{"config":{config},"manager":"m"}}"#), r#""action":"create""#),
            (
                "patch.json_patch",
                r#"{"live":{},"operations":[{"op":"add","path":"/a","value":1}]}"#.into(),
                r#"{"a":1}"#,
            ),
            ("patch.json_patch_diff", r#"{"original":{},"modified":{"a":1}}"#.into(), r#""op":"add""#),
            ("patch.json_merge_diff", r#"{"original":{"b":1},"modified":{}}"#.into(), r#"{"b":null}"#),
            (
                "fields.encode",
                format!(r#"{{"fields":{fields},"form":"nested-lists"}}"#),
                r#"{"text":"[4,\"data\",[0,\"k\"]]"}"#,
            ),
            ("fields.decode", r#"{"text":"[4,\"data\",[0,\"k\"]]"}"#.into(), fields),
            ("fields.paths", format!(r#"{{"fields":{fields}}}"#), r#"[".data.k"]"#),
            ("fields.from_paths", r#"{"paths":[".data.k"]}"#.into(), fields),
        ] {
            let shown = run(name, &arguments).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(shown.contains(part), "{name}: {shown}");
        }
    }

    #[test]
    fn wrong_arguments_say_what_would_be_right() {
        for (name, arguments, message) in [
            ("jump", "{}", "there is no function \"jump\""),
            ("blame", "[]", "the arguments must be an object"),
            ("blame", "{}", "live is missing"),
            ("blame", r#"{"live":{},"lvie":{}}"#, "unknown argument \"lvie\"; known are live"),
            (
                "apply",
                r#"{"config":{},"manager":1}"#,
                "manager has a value of type integer; it must be a string",
            ),
            (
                "apply",
                r#"{"config":{},"manager":"m","force":"yes"}"#,
                "force has a value of type string; it must be true or false",
            ),
            (
                "apply",
                r#"{"config":{},"manager":"m","force_paths":".a"}"#,
                "force_paths has a value of type string; it must be a list",
            ),
            ("fields.decode", "{}", "give either text or bytes"),
        ] {
            let error = run(name, arguments).unwrap_err();
            assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Argument, message), "{name}");
        }
    }

    #[test]
    fn types_are_those_of_the_version() {
        let arguments = |version: &str| {
            format!(
                r#"{{"live":{{"apiVersion":"storage.k8s.io/v1","kind":"CSINode","status":{{"a":1}}}},"patch":{{"status":{{"$patch":"delete"}}}},"kind":"certificates.k8s.io/v1/PodCertificateRequest","compatibility":"kubernetes@{version}"}}"#
            )
        };
        assert!(run("patch.strategic_merge", &arguments("1.37")).is_ok());
        let error = run("patch.strategic_merge", &arguments("1.36")).unwrap_err().to_string();
        assert!(error.contains("PodCertificateRequest"), "{error}");
    }
}
