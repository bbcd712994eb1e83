//! A rule of a schema (`x-kubernetes-validations`) and its compiled program.

use std::sync::OnceLock;
use tenure_cel::{Decl, Env, Error, Type};
use tenure_meta::ValueExt;
use tenure_profile::{Behaviour, Profile};
use tenure_value::{Text, Value};

/// The maximum length of an expression, in bytes.
pub(crate) const MOST_BYTES: usize = 16 << 10;

/// A rule of a schema.
#[derive(Debug)]
pub(crate) struct Rule {
    pub source: Text,
    pub message: Text,
    pub message_expression: Text,
    pub reason: Text,
    pub field_path: Text,
    pub optional_old_self: bool,
    profile: Profile,
    program: OnceLock<Result<Program, String>>,
}

/// A rule, compiled.
#[derive(Debug)]
pub(crate) struct Program {
    pub rule: tenure_cel::Program,
    /// The compiled message expression, or its error.
    pub message: Option<Result<tenure_cel::Program, String>>,
    /// Whether the rule is a transition rule.
    pub is_transition: bool,
}

/// The index of `oldSelf` among the variables; `self` comes first.
const OLD_SELF: usize = 1;

impl Rule {
    pub fn new(rule: &Value, profile: Profile) -> Rule {
        Rule {
            profile,
            source: rule.text("rule"),
            message: rule.text("message"),
            message_expression: rule.text("messageExpression"),
            reason: rule.text("reason"),
            field_path: rule.text("fieldPath"),
            optional_old_self: rule.flag("optionalOldSelf"),
            program: OnceLock::new(),
        }
    }

    /// Returns the rule compiled for the declared values; compiles it on first use.
    pub fn program(&self, decl: Option<&Decl>) -> Result<&Program, &str> {
        self.program.get_or_init(|| self.compile(decl)).as_ref().map_err(String::as_str)
    }

    fn compile(&self, decl: Option<&Decl>) -> Result<Program, String> {
        if self.source.len() > MOST_BYTES {
            return Err(format!("compilation failed: the expression is longer than {MOST_BYTES} bytes"));
        }
        let Some(decl) = decl else {
            return Err("compilation failed: the schema does not say what the values here are".into());
        };
        let old = match self.optional_old_self {
            true => Decl::of(Type::optional(decl.ty())),
            false => decl.clone(),
        };
        let env = match self.profile.behaves(Behaviour::TextCosts) {
            true => Env::kubernetes_1_37(),
            false => Env::kubernetes(),
        };
        let env = env.with_variable("self", decl.clone()).with_variable("oldSelf", old);
        let rule = env.compile(&self.source).map_err(|error| compile_detail("", &error))?;
        if !matches!(rule.result_type(), Type::Bool) {
            return Err("cel expression must evaluate to a bool".into());
        }
        let message = (!self.message_expression.trim().is_empty()).then(|| {
            let message = env.compile(&self.message_expression);
            let message = message.map_err(|error| compile_detail("messageExpression ", &error))?;
            match message.result_type() {
                Type::String => Ok(message),
                _ => Err("messageExpression must evaluate to a string".to_string()),
            }
        });
        let is_transition = rule.reads(OLD_SELF);
        Ok(Program { rule, message, is_transition })
    }

    /// Returns what errors call the rule: its message, or its expression.
    pub fn name(&self) -> &str {
        match self.message.trim() {
            "" => self.source.trim(),
            message => message,
        }
    }

    /// Returns the message of a violated rule.
    pub fn words(&self) -> String {
        match self.message.trim() {
            "" => format!("failed rule: {}", self.source.trim()),
            message => message.to_string(),
        }
    }
}

/// Returns why an expression cannot be compiled.
pub(crate) fn compile_detail(what: &str, error: &Error) -> String {
    match error {
        Error::Compile(issues) => format!("{what}compilation failed: {issues}"),
        other if what.is_empty() => format!("program instantiation failed: {other}"),
        other => format!("{what}instantiation failed: {other}"),
    }
}
