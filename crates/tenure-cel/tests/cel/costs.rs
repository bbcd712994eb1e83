//! Estimated costs: 588 schemas with rules, with the verdict of Kubernetes v1.36.4 on each.

use crate::schema::decl;
use tenure_cel::{Env, excess};
use tenure_value::Value;

/// The maximum cost of one rule, over all values that it is evaluated for.
const PER_RULE: u64 = 10_000_000;
/// The maximum cost of all rules of a schema.
const PER_SCHEMA: u64 = 100_000_000;

/// The findings about the rules of a schema.
#[derive(Default)]
struct Verdict {
    /// Compile errors and exceeded costs, in order.
    issues: Vec<String>,
    total: u64,
}

impl Verdict {
    /// Checks the rules of a node that a document contains at most `count` times; `None` if that is
    /// unbounded.
    fn judge(&mut self, schema: &Value, count: Option<u64>) {
        let declared = decl(schema, "self");
        for rule in schema
            .get("x-kubernetes-validations")
            .and_then(Value::as_array)
            .into_iter()
            .flat_map(|properties| properties.iter())
        {
            let rule = rule.get("rule").and_then(Value::as_str).unwrap();
            let declared = declared.clone().unwrap();
            let env = Env::kubernetes()
                .with_variable("self", declared.clone())
                .with_variable("oldSelf", declared.clone());
            match env.compile(rule) {
                Err(error) => self.issues.push(error.to_string()),
                Ok(program) => {
                    let count = count.unwrap_or_else(|| declared.max_count());
                    let cost = program.estimated_cost().saturating_mul(count);
                    self.total = self.total.saturating_add(cost);
                    if cost > PER_RULE {
                        self.issues.push(excess(cost, PER_RULE));
                    }
                }
            }
        }
        let below = |decl: Option<u64>| match (count, decl) {
            (Some(count), Some(most)) => Some(count.saturating_mul(most)),
            _ => None,
        };
        let most = |key: &str| schema.get(key).and_then(Value::as_i64).map(|most| most as u64);
        for (_, field) in schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|properties| properties.iter())
        {
            self.judge(field, count);
        }
        if let Some(values @ Value::Object(_)) = schema.get("additionalProperties") {
            self.judge(values, below(most("maxProperties")));
        }
        if let Some(items) = schema.get("items") {
            self.judge(items, below(most("maxItems")));
        }
    }
}

#[test]
fn estimates_agree_with_kubernetes() {
    let mut wrong = Vec::new();
    let recorded = include_str!("../data/cel-costs.jsonl");
    assert_eq!(recorded.lines().count(), 588);
    for (at, line) in recorded.lines().enumerate() {
        let case: Value = line.parse().unwrap();
        let schema = case.get("schema").unwrap();
        let mut verdict = Verdict::default();
        verdict.judge(schema, Some(1));
        let mut expected = Vec::new();
        let mut transition = false;
        for cause in case.get("causes").and_then(Value::as_array).unwrap().iter() {
            let message = cause.get("message").and_then(Value::as_str).unwrap();
            transition |= message.contains("oldSelf cannot be used");
            if let Some((_, error)) = message.split_once("compilation failed: ") {
                expected.push(error.to_string());
            } else if let Some(factor) =
                message.strip_prefix("Forbidden: estimated rule cost exceeds budget by factor of ")
            {
                expected.push(factor.split(" (").next().unwrap().to_string());
            } else if let Some((_, factor)) =
                message.split_once("entire OpenAPIv3 schema exceeds budget by factor of ")
            {
                expected.push(format!("total {}", factor.split(" (").next().unwrap()));
            }
        }
        let mut found = verdict.issues;
        if verdict.total > PER_SCHEMA {
            found.push(format!("total {}", excess(verdict.total, PER_SCHEMA)));
        }
        if found != expected && !transition {
            wrong.push(format!("{at}: {schema:?}\n  expected {expected:?}\n  found    {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
}
