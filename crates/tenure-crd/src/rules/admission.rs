//! The environment of admission expressions: match conditions of webhooks, validations and mutations of
//! policies. They have documents without a schema, and an authorizer.

use super::authorizer;
use std::sync::{Arc, OnceLock};
use tenure_cel::{Decl, Env, Error, ObjectTypes, Program, Type};
use tenure_value::Text;

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
    let env = message_env(documents)?;
    Ok(authorizer::variables().into_iter().fold(env, |env, (name, decl)| env.with_variable(name, decl)))
}

/// Returns the environment of messages: the documents alone.
pub fn message_env(documents: &[&str]) -> Result<Env, Error> {
    static BASE: OnceLock<Result<Env, Error>> = OnceLock::new();
    let base = BASE
        .get_or_init(|| authorizer::with_functions(Env::kubernetes().with_objects(Arc::new(MutationTypes))));
    let declare = |name| document_decl(name).cloned().unwrap_or_else(Decl::dynamic);
    Ok(documents.iter().fold(base.clone()?, |env, name| env.with_variable(*name, declare(name))))
}

/// Returns the declaration of a document that has a type: the request, its namespace, and `variables`, which has no fields, since each
/// variable of a policy is a variable of its own.
pub fn document_decl(name: &str) -> Option<&'static Decl> {
    static REQUEST: OnceLock<Decl> = OnceLock::new();
    static NAMESPACE: OnceLock<Decl> = OnceLock::new();
    static VARIABLES: OnceLock<Decl> = OnceLock::new();
    match name {
        "request" => Some(REQUEST.get_or_init(request)),
        "namespaceObject" => Some(NAMESPACE.get_or_init(namespace)),
        "variables" => Some(VARIABLES.get_or_init(|| Decl::object::<Text>("kubernetes.variables", []))),
        _ => None,
    }
}

/// Returns an environment in which a policy's variable is known by its name, with the type of its expression.
pub fn with_policy_variable(env: Env, name: &str, program: Option<&Program>) -> Env {
    let ty = program.map_or(Type::Dyn, |program| variable_type(program.result_type()));
    env.with_variable(format!("variables.{name}"), Decl::of(ty))
}

/// Returns the type of a variable: objects, and types of libraries, are known at evaluation only.
fn variable_type(ty: &Type) -> Type {
    match ty {
        Type::List(item) => Type::list(variable_type(item)),
        Type::Map(key, value) => Type::map(variable_type(key), variable_type(value)),
        Type::Null
        | Type::Bool
        | Type::Int
        | Type::UInt
        | Type::Double
        | Type::String
        | Type::Bytes
        | Type::Timestamp
        | Type::Duration => ty.clone(),
        _ => Type::Dyn,
    }
}

/// Declares an object with fields of these types.
fn object<const N: usize>(name: &'static str, fields: [(&'static str, Decl); N]) -> Decl {
    Decl::object(name, fields.map(|(field, decl)| (field, decl, false)))
}

fn texts<const N: usize>(name: &'static str, fields: [&'static str; N]) -> Decl {
    object(name, fields.map(|field| (field, Decl::string())))
}

fn request() -> Decl {
    let kind = texts("kubernetes.GroupVersionKind", ["group", "version", "kind"]);
    let resource = texts("kubernetes.GroupVersionResource", ["group", "version", "resource"]);
    let (groups, extra) = (Decl::list(Decl::string()), Decl::map(Decl::list(Decl::string())));
    let user = [("username", Decl::string()), ("uid", Decl::string()), ("groups", groups), ("extra", extra)];
    object(
        "kubernetes.AdmissionRequest",
        [
            ("kind", kind.clone()),
            ("resource", resource.clone()),
            ("subResource", Decl::string()),
            ("requestKind", kind),
            ("requestResource", resource),
            ("requestSubResource", Decl::string()),
            ("name", Decl::string()),
            ("namespace", Decl::string()),
            ("operation", Decl::string()),
            ("userInfo", object("kubernetes.UserInfo", user)),
            ("dryRun", Decl::bool()),
            ("options", Decl::dynamic()),
        ],
    )
}

fn namespace() -> Decl {
    let words = || Decl::map(Decl::string());
    let metadata = [
        ("name", Decl::string()),
        ("generateName", Decl::string()),
        ("namespace", Decl::string()),
        ("labels", words()),
        ("annotations", words()),
        ("UID", Decl::string()),
        ("creationTimestamp", Decl::timestamp()),
        ("deletionGracePeriodSeconds", Decl::int()),
        ("deletionTimestamp", Decl::timestamp()),
        ("generation", Decl::int()),
        ("resourceVersion", Decl::string()),
        ("finalizers", Decl::list(Decl::string())),
    ];
    let condition = [
        ("status", Decl::string()),
        ("type", Decl::string()),
        ("lastTransitionTime", Decl::timestamp()),
        ("message", Decl::string()),
        ("reason", Decl::string()),
    ];
    let conditions = Decl::list(object("kubernetes.NamespaceCondition", condition));
    let finalizers = [("finalizers", Decl::list(Decl::string()))];
    object(
        "kubernetes.Namespace",
        [
            ("metadata", object("kubernetes.NamespaceMetadata", metadata)),
            ("spec", object("kubernetes.NamespaceSpec", finalizers)),
            (
                "status",
                object("kubernetes.NamespaceStatus", [("conditions", conditions), ("phase", Decl::string())]),
            ),
        ],
    )
}

/// Compiles an expression whose result must have one of these types, as they are written; any type is right if there is none.
pub fn compile_expression(env: &Env, source: &str, types: &[&str]) -> Result<Program, String> {
    let program = env.compile(source).map_err(|error| crate::rule::compile_detail("", &error))?;
    let found = exact_name(program.result_type());
    match types {
        [] => Ok(program),
        types if types.contains(&found.as_str()) => Ok(program),
        [one] => Err(format!("must evaluate to {one} but got {found}")),
        several => Err(format!("must evaluate to one of [{}] but got {found}", several.join(" "))),
    }
}

/// Returns the name of a type, which is longer for some than the one in errors of the type checker.
fn exact_name(ty: &Type) -> String {
    match ty {
        Type::Null => "null_type".into(),
        Type::Timestamp => "google.protobuf.Timestamp".into(),
        Type::Duration => "google.protobuf.Duration".into(),
        Type::List(item) => format!("list({})", exact_name(item)),
        Type::Map(key, value) => format!("map({}, {})", exact_name(key), exact_name(value)),
        Type::Optional(inner) => format!("optional_type({})", exact_name(inner)),
        other => other.to_string(),
    }
}
