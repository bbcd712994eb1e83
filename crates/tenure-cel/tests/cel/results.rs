//! Results: 158 rules with the results of Kubernetes v1.36.4.

use crate::schema::decl;
use tenure_cel::{Env, Error, Limits, Val, excess};
use tenure_value::Value;

#[test]
fn results_agree_with_kubernetes() {
    let mut wrong = Vec::new();
    let recorded = include_str!("../data/cel-results.jsonl");
    assert_eq!(recorded.lines().count(), 158);
    for (at, line) in recorded.lines().enumerate() {
        let case: Value = line.parse().unwrap();
        let rule = case.get("rule").and_then(Value::as_str).unwrap();
        let message = case.get("message").and_then(Value::as_str).unwrap_or_default();
        let schema = Value::object([
            ("type", Value::from("object")),
            ("properties", case.get("schema").unwrap().clone()),
        ]);
        let ty = decl(&schema, "self").unwrap();
        let env = Env::kubernetes().with_variable("self", ty.clone());
        let found = match env.compile(rule) {
            Err(Error::Compile(issues)) => format!("compilation failed: {issues}"),
            Err(error) => format!("program instantiation failed: {error}"),
            Ok(program) if program.estimated_cost() > 10_000_000 => {
                excess(program.estimated_cost(), 10_000_000)
            }
            Ok(program) => {
                let value = Val::from_document(case.get("value").unwrap(), Some(&ty)).unwrap();
                match program.eval(&[value], Limits::new()).result {
                    Ok(Val::Bool(true)) => String::new(),
                    Ok(Val::Bool(false)) => format!("failed rule: {rule}"),
                    Ok(other) => format!("{other:?}"),
                    Err(error) => format!("{error} evaluating rule: {rule}"),
                }
            }
        };
        let agrees = if found.is_empty() { message.is_empty() } else { message.contains(&found) };
        if !agrees {
            wrong.push(format!("{at}: {rule}\n  expected {message:?}\n  found    {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
}
