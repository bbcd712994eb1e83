//! The authorizer of expressions:
//! `authorizer.group('apps').resource('deployments').check('update').allowed()`. The caller decides.

use std::{any::Any, fmt, sync::Arc};
use tenure_cel::{Cost, Decl, Env, Error, EvalResult, Opaque, Type, Val};
use tenure_value::Text;

/// The attributes of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessAttributes {
    /// Namespace and name of the service account to check; `None` for the requesting user.
    pub service_account: Option<(Text, Text)>,
    /// The path of a non-resource request.
    pub path: Text,
    /// The API group.
    pub group: Text,
    /// The resource.
    pub resource: Text,
    /// The subresource.
    pub subresource: Text,
    /// The namespace.
    pub namespace: Text,
    /// The name of the object.
    pub name: Text,
    /// The field selector.
    pub field_selector: Text,
    /// The label selector.
    pub label_selector: Text,
    /// The verb.
    pub verb: Text,
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether the check is allowed.
    pub allowed: bool,
    /// The reason.
    pub reason: Text,
    /// The error, if there was one.
    pub error: Option<Text>,
}

/// Decides checks.
pub type Decide = dyn Fn(&AccessAttributes) -> Decision + Send + Sync;

const AUTHORIZER: &str = "kubernetes.authorization.Authorizer";
const PATH_CHECK: &str = "kubernetes.authorization.PathCheck";
const GROUP_CHECK: &str = "kubernetes.authorization.GroupCheck";
const RESOURCE_CHECK: &str = "kubernetes.authorization.ResourceCheck";
const DECISION: &str = "kubernetes.authorization.Decision";

/// A check under construction.
#[derive(Clone)]
struct Check {
    stage: &'static str,
    attributes: AccessAttributes,
    decide: Arc<Decide>,
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(self.stage).field("attributes", &self.attributes).finish()
    }
}

impl Opaque for Check {
    fn type_name(&self) -> &str {
        self.stage
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref::<Check>().is_some_and(|other| self.attributes == other.attributes)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Opaque for Decision {
    fn type_name(&self) -> &str {
        DECISION
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref::<Decision>() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Returns the value of the variable `authorizer`.
pub fn authorizer<'v>(decide: Arc<Decide>) -> Val<'v> {
    Val::opaque(Check { stage: AUTHORIZER, attributes: AccessAttributes::default(), decide })
}

/// Returns the value of the variable `authorizer.requestResource`: a check for the requested resource.
pub fn request_resource<'v>(decide: Arc<Decide>, attributes: AccessAttributes) -> Val<'v> {
    Val::opaque(Check { stage: RESOURCE_CHECK, attributes, decide })
}

/// Returns the declarations of `authorizer` and `authorizer.requestResource`.
pub(super) fn variables() -> [(&'static str, Decl); 2] {
    [
        ("authorizer", Decl::of(Type::named(AUTHORIZER))),
        ("authorizer.requestResource", Decl::of(Type::named(RESOURCE_CHECK))),
    ]
}

/// The methods that extend a check: receiver, name, result, the attribute they set, and whether it may be
/// empty.
type Step = (&'static str, &'static str, &'static str, fn(&mut AccessAttributes, Text), bool);
const STEPS: [Step; 8] = [
    (AUTHORIZER, "path", PATH_CHECK, |check, text| check.path = text, false),
    (AUTHORIZER, "group", GROUP_CHECK, |check, text| check.group = text, true),
    (GROUP_CHECK, "resource", RESOURCE_CHECK, |check, text| check.resource = text, false),
    (RESOURCE_CHECK, "subresource", RESOURCE_CHECK, |check, text| check.subresource = text, true),
    (RESOURCE_CHECK, "namespace", RESOURCE_CHECK, |check, text| check.namespace = text, true),
    (RESOURCE_CHECK, "name", RESOURCE_CHECK, |check, text| check.name = text, true),
    (RESOURCE_CHECK, "fieldSelector", RESOURCE_CHECK, |check, text| check.field_selector = text, true),
    (RESOURCE_CHECK, "labelSelector", RESOURCE_CHECK, |check, text| check.label_selector = text, true),
];

/// The methods of a decision: name, type and code.
type Answer = (&'static str, &'static str, fn(&Decision) -> Val<'static>);

/// Adds the functions of the authorizer.
pub(super) fn with_functions(mut env: Env) -> Result<Env, Error> {
    for (receiver, name, result, set, may_be_empty) in STEPS {
        let cost = if name.ends_with("Selector") { Cost::Selector } else { Cost::Fixed(1) };
        env = env.with_function(&format!("{receiver}.{name}(string): {result}"), cost, move |_, args| {
            let (check, text) = check_and_text(args)?;
            if text.is_empty() && !may_be_empty {
                return Err(Error::evaluate(format!("{name} must not be empty")));
            }
            let mut next = Check { stage: result, ..check.clone() };
            set(&mut next.attributes, text);
            Ok(Val::opaque(next))
        })?;
    }
    env = env.with_function(
        &format!("{AUTHORIZER}.serviceAccount(string, string): {AUTHORIZER}"),
        Cost::Fixed(1),
        |_, args| {
            let (check, namespace) = check_and_text(args)?;
            let Some(Val::String(name)) = args.get(2) else { return no_such_overload() };
            let mut next = check.clone();
            next.attributes.service_account = Some((namespace, name.clone()));
            Ok(Val::opaque(next))
        },
    )?;
    for receiver in [PATH_CHECK, RESOURCE_CHECK] {
        // One expression may make at most two checks.
        env = env.with_function(
            &format!("{receiver}.check(string): {DECISION}"),
            Cost::Fixed(350_000),
            |_, args| {
                let (check, verb) = check_and_text(args)?;
                let attributes = AccessAttributes { verb, ..check.attributes.clone() };
                Ok(Val::opaque((check.decide)(&attributes)))
            },
        )?;
    }
    let answers: [Answer; 4] = [
        ("allowed", "bool", |decision| Val::Bool(decision.allowed)),
        ("errored", "bool", |decision| Val::Bool(decision.error.is_some())),
        ("error", "string", |decision| Val::String(decision.error.clone().unwrap_or_default())),
        ("reason", "string", |decision| Val::String(decision.reason.clone())),
    ];
    for (name, result, answer) in answers {
        env =
            env.with_function(&format!("{DECISION}.{name}(): {result}"), Cost::Fixed(1), move |_, args| {
                args.first()
                    .and_then(Val::downcast::<Decision>)
                    .map_or_else(no_such_overload, |decision| Ok(answer(decision)))
            })?;
    }
    Ok(env)
}

fn no_such_overload<'v>() -> EvalResult<'v> {
    Err(Error::evaluate("no such overload"))
}

fn check_and_text<'a>(args: &'a [Val<'_>]) -> Result<(&'a Check, Text), Error> {
    match (args.first().and_then(Val::downcast::<Check>), args.get(1)) {
        (Some(check), Some(Val::String(text))) => Ok((check, text.clone())),
        _ => Err(Error::evaluate("no such overload")),
    }
}
