//! The npm package: documents come and go as JSON, errors as JSON in the message of an exception, and servers as handles. What is
//! computed, and which arguments there are, is in `tenure-bindings`; the JavaScript files beside it check that values are documents.

mod background;
mod server;
mod text;

use background::{Background, in_background};
use napi_derive::napi;
use std::{ffi::OsString, sync::Arc};
use tenure_bindings::{Error, KUBERNETES_VERSION, VERSION, Value, call};
use text::{guarded, parsed, shown};

/// Where types come from.
#[napi]
pub struct NativeTypes(Arc<tenure_bindings::Types>);

#[napi]
impl NativeTypes {
    /// Compiles definitions and OpenAPI documents: a JSON list.
    #[napi(factory)]
    pub fn of_documents(documents: String) -> napi::Result<NativeTypes> {
        let types = guarded(|| match parsed(&documents)? {
            Value::Array(documents) => tenure_bindings::Types::of_documents(&documents),
            _ => Err(Error::argument("schema must be a list")),
        })?;
        Ok(NativeTypes(Arc::new(types)))
    }

    /// Compiles one OpenAPI schema, which every document has.
    #[napi(factory)]
    pub fn of_schema(schema: String) -> napi::Result<NativeTypes> {
        let types = guarded(|| tenure_bindings::Types::of_schema(&parsed(&schema)?))?;
        Ok(NativeTypes(Arc::new(types)))
    }

    /// Returns the kinds, as `apps/v1/Deployment`.
    #[napi]
    pub fn kinds(&self) -> napi::Result<Vec<String>> {
        guarded(|| Ok(self.0.kinds()))
    }
}

/// Calls an engine with named arguments. Returns JSON, and the paths of integers that JavaScript's numbers do not hold.
#[napi]
pub fn invoke(name: String, arguments: String, types: Option<&NativeTypes>) -> napi::Result<Vec<String>> {
    guarded(|| {
        let arguments = parsed(&arguments)?;
        let result = match types {
            Some(types) => call(&name, &arguments, &types.0)?,
            None => call(&name, &arguments, &tenure_bindings::Types::builtin())?,
        };
        Ok(shown(&result))
    })
}

/// Returns the objects of files and directories as a JSON list.
#[napi]
pub fn manifests(paths: Vec<String>, may_be_missing: bool) -> napi::Result<String> {
    guarded(|| Ok(tenure_bindings::manifests(&paths, may_be_missing)?.to_string()))
}

/// Creates a certificate in a directory, and returns its path and that of its key.
#[napi]
pub fn serving_certificate(directory: String, names: Vec<String>) -> napi::Result<Vec<String>> {
    guarded(|| Ok(tenure_bindings::serving_certificate(&directory, names)?.into()))
}

/// Runs the program `tenure` with its command line, outside of the event loop, and resolves to the exit code.
#[napi(ts_return_type = "Promise<number>")]
pub fn run(command_line: Vec<String>) -> Background<u32> {
    in_background(move || Ok(u32::from(tenure_cli::run(command_line.into_iter().map(OsString::from)))))
}

/// Panics inside a call, for the test that a panic is an exception.
#[napi]
pub fn raised() -> napi::Result<()> {
    guarded(|| panic!("asked for"))
}

/// Returns the version of the package and that of Kubernetes.
#[napi]
pub fn versions() -> Vec<String> {
    vec![VERSION.to_owned(), KUBERNETES_VERSION.to_owned()]
}
