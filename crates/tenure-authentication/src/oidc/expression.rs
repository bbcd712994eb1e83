//! CEL expressions over `claims` and over `user`.

use std::sync::OnceLock;
use tenure_cel::{Decl, Env, Expr, Limits, Literal, Program, Type, Val, escape, parse};
use tenure_meta::UserInfo;
use tenure_value::{Float, Object, Text, Value};

/// The operator of `claims.?email`.
const OPTIONAL_SELECT: &str = "_?._";

/// The variables of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    /// The claims of a token, as `claims`.
    Claims,
    /// The user that claims have become, as `user`.
    User,
}

/// The required type of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Returns {
    /// `true` or `false`; this is known when the expression is compiled.
    Bool,
    /// A string or a list of strings, which is known only when the expression is evaluated.
    Texts,
}

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Expression {
    pub source: String,
    variable: Variable,
    program: Program,
    /// Whether it may use escaped names of claims, such as `claims.tenant__dot__name`.
    has_escapes: bool,
}

impl Variable {
    fn decl(self) -> &'static Decl {
        static CLAIMS: OnceLock<Decl> = OnceLock::new();
        static USER: OnceLock<Decl> = OnceLock::new();
        match self {
            Variable::Claims => CLAIMS.get_or_init(|| Decl::map(Decl::dynamic())),
            Variable::User => USER.get_or_init(|| {
                let texts = || Decl::list(Decl::string());
                let fields = [
                    ("username", Decl::string(), false),
                    ("uid", Decl::string(), false),
                    ("groups", texts(), false),
                    ("extra", Decl::map(texts()), false),
                ];
                Decl::object("kubernetes.UserInfo", fields)
            }),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Variable::Claims => "claims",
            Variable::User => "user",
        }
    }
}

impl Expression {
    /// Compiles an expression; returns an error message otherwise.
    pub fn compile(source: &str, variable: Variable, returns: Returns) -> Result<Expression, String> {
        let env = Env::kubernetes().with_variable(variable.name(), variable.decl().clone());
        let program = env.compile(source).map_err(|error| format!("compilation failed: {error}"))?;
        if returns == Returns::Bool && !matches!(program.result_type(), Type::Bool) {
            return Err("must evaluate to bool".into());
        }
        Ok(Expression { source: source.into(), variable, program, has_escapes: source.contains("__") })
    }

    /// Whether the expression reads a claim by its name: `claims.email`, `has(claims.email)` or `claims.?email`.
    pub fn reads_claim(&self, claim: &str) -> bool {
        // It has been compiled, so it can be parsed.
        let Ok(tree) = parse(&self.source) else { return false };
        let is_claims = |id| matches!(tree.node(id), Expr::Ident(name) if name == "claims");
        let mut left = vec![tree.root()];
        while let Some(id) = left.pop() {
            let node = tree.node(id);
            match node {
                Expr::Select { operand, field, .. } if field == claim && is_claims(*operand) => return true,
                Expr::Call { function, args, .. } if function == OPTIONAL_SELECT => {
                    if let [operand, field] = **args
                        && is_claims(operand)
                        && matches!(tree.node(field), Expr::Literal(Literal::String(name)) if name == claim)
                    {
                        return true;
                    }
                }
                _ => {}
            }
            node.for_each_part(|part| left.push(part));
        }
        false
    }

    /// Evaluates an expression over a document that [`claims_document`] or [`user_document`] made.
    fn evaluate<R>(
        &self,
        document: &Value,
        read: impl FnOnce(Val<'_>) -> Result<R, String>,
    ) -> Result<R, String> {
        let escaped = self.has_escapes.then(|| with_escaped_names(document));
        let document = escaped.as_ref().unwrap_or(document);
        let value = Val::from_document(document, Some(self.variable.decl()));
        let value = value.map_err(|error| error.to_string())?;
        // The operator wrote the expression, and a token is short: only memory is limited.
        let result = self.program.eval(&[value], Limits::unlimited_cost()).result;
        read(result.map_err(|error| format!("expression '{}' resulted in error: {error}", self.source))?)
    }

    /// Evaluates an expression that must be a string.
    pub fn text(&self, document: &Value) -> Result<Option<Text>, String> {
        self.evaluate(document, |value| match value {
            Val::String(text) => Ok(Some(text)),
            _ => Ok(None),
        })
    }

    /// Evaluates an expression that must be a string or a list of strings. Empty values and null are left out.
    pub fn texts(&self, document: &Value) -> Result<Vec<Text>, String> {
        let wrong = || "expression must return a string or a list of strings".to_string();
        self.evaluate(document, |value| match value {
            Val::Null => Ok(Vec::new()),
            Val::String(text) => Ok(Some(text).filter(|text| !text.is_empty()).into_iter().collect()),
            Val::List(list) => {
                let mut texts = Vec::new();
                for item in list.iter() {
                    match item.map_err(|error| error.to_string())? {
                        Val::String(text) if text.is_empty() => {}
                        Val::String(text) => texts.push(text),
                        _ => return Err(wrong()),
                    }
                }
                Ok(texts)
            }
            _ => Err(wrong()),
        })
    }

    /// Evaluates an expression that must be true; otherwise the error has the message of its rule.
    pub fn check(&self, document: &Value, message: &str) -> Result<(), String> {
        self.evaluate(document, |value| match value {
            Val::Bool(true) => Ok(()),
            Val::Bool(false) => Err(format!("validation expression '{}' failed: {message}", self.source)),
            _ => Err("validation expression must return a boolean".into()),
        })
    }
}

/// Returns claims as expressions see them: every number is a double, as in Kubernetes.
pub(crate) fn claims_document(claims: &Value) -> Value {
    match claims {
        Value::Int(number) => Float::new(*number as f64).map_or(Value::Null, Value::Float),
        Value::UInt(number) => Float::new(number.get() as f64).map_or(Value::Null, Value::Float),
        Value::Array(items) => Value::array(items.items().iter().map(claims_document)),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), claims_document(value)));
            Value::Object(Object::from_sorted(fields.collect::<Vec<_>>()))
        }
        other => other.clone(),
    }
}

/// Returns a user as expressions see it, with every field.
pub(crate) fn user_document(user: &UserInfo) -> Value {
    let texts = |list: &[Text]| Value::array(list.iter().cloned().map(Value::from));
    let extra = user.extra.iter().map(|(key, values)| (key.clone(), texts(values)));
    Value::object([
        ("username", Value::from(user.name.clone())),
        ("uid", Value::from(user.uid.clone())),
        ("groups", texts(&user.groups)),
        ("extra", Value::object(extra)),
    ])
}

/// Returns a document in which names that expressions cannot write have their escaped form beside them.
fn with_escaped_names(document: &Value) -> Value {
    match document {
        Value::Array(items) => Value::array(items.items().iter().map(with_escaped_names)),
        Value::Object(fields) => {
            let mut all = Vec::with_capacity(fields.len());
            for (name, value) in fields.iter() {
                let value = with_escaped_names(value);
                if let Some(escaped) = escape(name).filter(|escaped| escaped != name)
                    && !fields.contains(&escaped)
                {
                    all.push((escaped, value.clone()));
                }
                all.push((name.clone(), value));
            }
            Value::object(all)
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compile(source: &str) -> Expression {
        Expression::compile(source, Variable::Claims, Returns::Texts).unwrap()
    }

    #[test]
    fn expressions_read_claims_of_any_name() {
        let claims: Value =
            r#"{"sub":"ann","n":3,"a.b":{"c-d":["x","","y"]},"groups":["devs"],"nothing":null}"#.parse().unwrap();
        let claims = claims_document(&claims);
        let text = |source: &str| compile(source).text(&claims);
        let texts = |source: &str| compile(source).texts(&claims);
        assert_eq!(text("'x:' + claims.sub"), Ok(Some("x:ann".into())));
        assert_eq!(text("claims.n"), Ok(None));
        assert_eq!(text("string(claims.n + 0.5)"), Ok(Some("3.5".into())));
        assert_eq!(texts("claims.a__dot__b.c__dash__d"), Ok(vec!["x".into(), "y".into()]));
        assert_eq!(texts("claims['a.b']['c-d'][0]"), Ok(vec!["x".into()]));
        assert_eq!(texts("claims.groups.map(g, 'oidc:' + g)"), Ok(vec!["oidc:devs".into()]));
        assert_eq!(texts("claims.nothing"), Ok(Vec::new()));
        assert_eq!(texts("has(claims.roles) ? claims.roles : []"), Ok(Vec::new()));
        assert!(texts("[1]").unwrap_err().contains("a string or a list of strings"));
        assert!(texts("claims.missing").unwrap_err().contains("no such key"));
    }

    #[test]
    fn rules_are_bools_and_say_what_failed() {
        let user = UserInfo::new("system:ann").with_group("devs");
        let document = user_document(&user);
        let rule = |source: &str| Expression::compile(source, Variable::User, Returns::Bool);
        let own = rule("!user.username.startsWith('system:')").unwrap();
        assert_eq!(
            own.check(&document, "no system users").unwrap_err(),
            "validation expression '!user.username.startsWith('system:')' failed: no system users"
        );
        assert_eq!(
            rule("user.groups.all(g, g == 'devs') && user.uid == ''").unwrap().check(&document, ""),
            Ok(())
        );
        assert_eq!(rule("user.username").unwrap_err(), "must evaluate to bool");
        assert!(rule("user.name == ''").unwrap_err().contains("undefined field 'name'"));
    }

    #[test]
    fn the_use_of_a_claim_is_found() {
        for (source, expected) in [
            ("claims.email", true),
            ("'x' + claims.email", true),
            ("claims.?email.orValue('')", true),
            ("has(claims.email) ? claims.sub : ''", true),
            ("claims.groups.filter(g, g == claims.email)", true),
            ("claims['email']", false),
            ("claims.other.email", false),
            ("'claims.email'", false),
        ] {
            assert_eq!(compile(source).reads_claim("email"), expected, "{source}");
        }
    }
}
