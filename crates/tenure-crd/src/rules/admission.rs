//! The environment of admission expressions: match conditions of webhooks, validations and mutations of
//! policies. They have documents without a schema, and an authorizer.

use super::authorizer;
use std::sync::{Arc, OnceLock};
use tenure_cel::{Decl, Env, Error, ObjectTypes, Type};

/// How the error of an expression of another type begins, before that type.
pub const OTHER_TYPE: &str = "must evaluate to another type than ";

/// Objects that mutations construct: parts of the object (`Object.spec{…}`) and operations of a JSON patch.
struct MutationTypes;

impl ObjectTypes for MutationTypes {
    fn contains(&self, name: &str) -> bool {
        name == "JSONPatch" || name == "Object" || name.starts_with("Object.")
    }

    fn field(&self, name: &str, field: &str) -> Option<Type> {
        match (name, field) {
            ("JSONPatch", "op" | "path" | "from") => Some(Type::String),
            ("JSONPatch", "value") => Some(Type::Dyn),
            ("JSONPatch", _) => None,
            _ => Some(Type::Dyn),
        }
    }
}

/// Returns the environment of expressions with these documents, followed by the authorizer: `authorizer` and
/// `authorizer.requestResource` are the last two variables.
pub fn admission_env(documents: &[&str]) -> Result<Env, Error> {
    static BASE: OnceLock<Result<Env, Error>> = OnceLock::new();
    let base = BASE
        .get_or_init(|| authorizer::with_functions(Env::kubernetes().with_objects(Arc::new(MutationTypes))));
    let env = documents.iter().fold(base.clone()?, |env, name| env.with_variable(*name, Decl::dynamic()));
    Ok(authorizer::variables().into_iter().fold(env, |env, (name, decl)| env.with_variable(name, decl)))
}

/// Returns the error in an expression that uses documents of these names; `is_right` tells whether its result
/// has the expected type.
pub fn expression_fault(source: &str, documents: &[&str], is_right: fn(&Type) -> bool) -> Option<String> {
    match admission_env(documents).and_then(|env| env.compile(source)) {
        Err(error) => Some(crate::rule::compile_detail("", &error)),
        Ok(program) if !is_right(program.result_type()) => {
            Some(format!("{OTHER_TYPE}{}", program.result_type()))
        }
        Ok(_) => None,
    }
}
