//! The types of documents without a server: those of `--schema` files, then the built-in ones. Nothing is compiled before it
//! is needed.

use crate::{
    Error,
    document::{self, Document},
};
use clap::Args;
use std::path::PathBuf;
use tenure_profile::KubernetesVersion;
use tenure_schema::{Schema, TypeRef, crd, openapi};
use tenure_value::Value;

/// The flag that names files with types.
#[derive(Args, Clone, Debug, Default)]
pub struct SchemaFiles {
    /// A file with further types: a CustomResourceDefinition, or an OpenAPI v2 or v3 document; may be repeated.
    #[arg(long = "schema", visible_aliases = ["crd", "openapi"], value_name = "FILE")]
    pub schema_files: Vec<PathBuf>,
    /// The version of Kubernetes whose built-in kinds these are [default: that of the server at hand; 1.37 without one].
    #[arg(long, value_name = "VERSION")]
    pub kubernetes_version: Option<KubernetesVersion>,
}

impl SchemaFiles {
    /// Compiles the types of all files.
    pub fn types(&self) -> Result<Types, Error> {
        let mut types = Types::default().at(self.kubernetes_version.unwrap_or_default());
        for file in &self.schema_files {
            for document in document::read(file)? {
                types.add(&document)?;
            }
        }
        Ok(types)
    }
}

fn compile(value: &Value) -> Result<Schema, String> {
    let compiled = if value.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition") {
        crd::compile(value)
    } else if value.get("swagger").is_some() {
        openapi::compile_v2(value)
    } else if value.get("openapi").is_some() {
        openapi::compile_v3(value)
    } else {
        return Err("it is neither a CustomResourceDefinition nor an OpenAPI document".into());
    };
    compiled.map_err(|error| error.to_string())
}

/// The types that are known without a server.
#[derive(Debug, Default)]
pub struct Types {
    /// Schemas live as long as the process, which ends with its command.
    schemas: Vec<&'static Schema>,
    /// The version of the built-in ones.
    version: KubernetesVersion,
}

impl Types {
    /// Returns the types with the built-in ones of a version of Kubernetes.
    pub fn at(self, version: KubernetesVersion) -> Types {
        Types { version, ..self }
    }

    /// Returns the type of a kind, if it is known.
    pub fn of(&self, api_version: &str, kind: &str) -> Option<TypeRef<'static>> {
        let given = self.schemas.iter().find_map(|schema| schema.kind(api_version, kind));
        given.or_else(|| Schema::builtin_at(self.version).kind(api_version, kind))
    }

    /// Adds the types of a definition or an OpenAPI document.
    pub fn add(&mut self, document: &Document) -> Result<(), Error> {
        let compiled = compile(&document.value);
        let compiled = compiled.map_err(|problem| Error::document(&document.place, problem))?;
        self.schemas.push(&*Box::leak(Box::new(compiled)));
        Ok(())
    }

    /// Iterates over the schemas of the files.
    pub fn given(&self) -> impl Iterator<Item = &'static Schema> {
        self.schemas.iter().copied()
    }

    /// Iterates over the schemas of the files, then the built-in one.
    pub fn schemas(&self) -> impl Iterator<Item = &'static Schema> {
        self.given().chain([Schema::builtin_at(self.version)])
    }
}
