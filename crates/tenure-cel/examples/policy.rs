//! Evaluates an expression from the command line over a JSON document from standard input:
//!
//! ```text
//! echo '{"spec": {"replicas": 3}}' | cargo run --example policy -- 'object.spec.replicas < 5'
//! ```

use std::{io::Read, process::ExitCode};
use tenure_cel::{Decl, Env, Limits, Val};
use tenure_value::Value;

fn main() -> ExitCode {
    let Some(expression) = std::env::args().nth(1) else {
        eprintln!("usage: policy EXPRESSION < DOCUMENT");
        return ExitCode::FAILURE;
    };
    match run(&expression) {
        Ok(result) => {
            println!("{result}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(expression: &str) -> Result<String, Box<dyn std::error::Error>> {
    let program = Env::kubernetes().with_variable("object", Decl::dynamic()).compile(expression)?;
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let document: Value = text.parse()?;
    let evaluation = program.eval(&[Val::from_document(&document, None)?], Limits::new());
    Ok(format!("{} (cost {})", evaluation.result?.to_document()?, evaluation.cost))
}
