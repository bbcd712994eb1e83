//! The conditions under which a webhook is asked: CEL expressions over `request`, the spec of the review.

use crate::aggregate;
use std::{
    fmt,
    sync::{Arc, OnceLock},
};
use tenure_cel::{Decl, Env, Limits, Program, Type, Val};
use tenure_value::{Object, Text, Value};

/// Compiled conditions. All must be true.
#[derive(Clone, Default)]
pub struct MatchConditions(Arc<[(String, Program)]>);

impl MatchConditions {
    /// Compiles conditions; the error has the index of the condition.
    pub fn compile(sources: impl IntoIterator<Item = String>) -> Result<MatchConditions, (usize, String)> {
        let env = Env::kubernetes().with_variable("request", request_decl().clone());
        let compile = |(at, source): (usize, String)| {
            let program =
                env.compile(&source).map_err(|error| (at, format!("compilation failed: {error}")))?;
            match program.result_type() {
                Type::Bool => Ok((source, program)),
                other => Err((at, format!("must evaluate to bool but got {other}"))),
            }
        };
        sources.into_iter().enumerate().map(compile).collect::<Result<_, _>>().map(MatchConditions)
    }

    /// Whether the request of a review is one that the webhook is asked about; the error is that of the expressions that failed if
    /// none is false.
    pub fn matches(&self, spec: &Value) -> Result<bool, String> {
        if self.0.is_empty() {
            return Ok(true);
        }
        let document = with_empty_texts(spec);
        let request = Val::from_document(&document, Some(request_decl()));
        let variables = [request.map_err(|error| error.to_string())?];
        let mut errors = Vec::new();
        for (source, program) in self.0.iter() {
            // The operator wrote the expression, and a request is short: only memory is limited.
            match program.eval(&variables, Limits::unlimited_cost()).result {
                Ok(Val::Bool(true)) => {}
                Ok(Val::Bool(false)) => return Ok(false),
                Ok(_) => errors.push(format!("cel evaluation error: expression '{source}' is not a bool")),
                Err(error) => {
                    errors.push(format!(
                        "cel evaluation error: expression '{source}' resulted in error: {error}"
                    ));
                }
            }
        }
        match errors.is_empty() {
            true => Ok(true),
            false => Err(aggregate(errors.iter().map(String::as_str))),
        }
    }
}

impl fmt::Debug for MatchConditions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.0.iter().map(|(source, _)| source)).finish()
    }
}

impl PartialEq for MatchConditions {
    fn eq(&self, other: &MatchConditions) -> bool {
        self.0.iter().map(|(source, _)| source).eq(other.0.iter().map(|(source, _)| source))
    }
}

impl Eq for MatchConditions {}

/// Returns the type of `request`.
fn request_decl() -> &'static Decl {
    static DECL: OnceLock<Decl> = OnceLock::new();
    DECL.get_or_init(|| {
        let texts = || Decl::list(Decl::string());
        let optional = |name: &'static str| (name, Decl::string(), false);
        let requirement = || {
            let fields = [optional("key"), optional("operator"), ("values", texts(), false)];
            Decl::object("kubernetes.SelectorRequirement", fields)
        };
        let selector = |name: &'static str| {
            let requirements = ("requirements", Decl::list(requirement()), false);
            Decl::object(name, [optional("rawSelector"), requirements])
        };
        let resource = Decl::object(
            "kubernetes.ResourceAttributes",
            [
                optional("namespace"),
                optional("verb"),
                optional("group"),
                optional("version"),
                optional("resource"),
                optional("subresource"),
                optional("name"),
                ("fieldSelector", selector("kubernetes.FieldSelectorAttributes"), false),
                ("labelSelector", selector("kubernetes.LabelSelectorAttributes"), false),
            ],
        );
        let path = Decl::object("kubernetes.NonResourceAttributes", [optional("path"), optional("verb")]);
        Decl::object(
            "kubernetes.SubjectAccessReviewSpec",
            [
                ("resourceAttributes", resource, false),
                ("nonResourceAttributes", path, false),
                optional("user"),
                ("groups", texts(), false),
                ("extra", Decl::map(texts()), false),
                optional("uid"),
            ],
        )
    })
}

/// Returns the spec of the review with its empty texts, so that expressions need not ask whether they are there.
fn with_empty_texts(spec: &Value) -> Value {
    const ATTRIBUTES: &str = "resourceAttributes";
    let with = |object: Object, names: &[&'static str], empty: &Value| {
        names.iter().fold(object, |object, name| match object.contains(name) {
            true => object,
            false => object.with(*name, empty.clone()),
        })
    };
    let text = Value::from(Text::default());
    let spec = spec.as_object().cloned().unwrap_or_default();
    let spec = with(spec, &["user", "uid"], &text);
    let spec = with(spec, &["groups"], &Value::array([]));
    let spec = with(spec, &["extra"], &Value::object::<&str>([]));
    match spec.get(ATTRIBUTES).and_then(Value::as_object).cloned() {
        Some(attributes) => {
            let names = ["namespace", "verb", "group", "version", "resource", "subresource", "name"];
            Value::Object(spec.with(ATTRIBUTES, Value::Object(with(attributes, &names, &text))))
        }
        None => Value::Object(spec),
    }
}
