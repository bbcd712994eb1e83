//! The entry points of the crate: the environments with their function libraries, and the compilation of an expression
//! from text to [`Program`].

use crate::{
    Env, Error, Program,
    check::check,
    library,
    program::compile,
    syntax::{expand, parse},
};
use std::sync::OnceLock;

impl Env {
    /// Returns an environment with only the standard library.
    pub fn standard() -> Env {
        static STANDARD: OnceLock<Env> = OnceLock::new();
        STANDARD.get_or_init(|| Env::new(library::standard())).clone()
    }

    /// Returns the environment that Kubernetes 1.36 offers: the standard library, texts, lists, regular expressions,
    /// URLs, quantities, IP addresses and networks, formats, semantic versions, sets, optional values and
    /// comprehensions of two variables.
    pub fn kubernetes() -> Env {
        static KUBERNETES: OnceLock<Env> = OnceLock::new();
        KUBERNETES.get_or_init(|| Env::new(library::kubernetes())).clone()
    }

    /// Returns the environment that Kubernetes 1.37 offers, which is that of 1.36 with other costs of some functions of texts.
    pub fn kubernetes_1_37() -> Env {
        static KUBERNETES: OnceLock<Env> = OnceLock::new();
        KUBERNETES.get_or_init(|| Env::new(library::kubernetes_1_37())).clone()
    }

    /// Compiles an expression: parses it, expands its macros, checks its types and prepares it for evaluation.
    pub fn compile(&self, text: &str) -> Result<Program, Error> {
        let parsed = parse(text)?;
        let checked = check(self, expand(&parsed)?)?;
        compile(self, checked)
    }
}
