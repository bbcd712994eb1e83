//! `delete`: deletions, as a plan that says whose fields go with the objects.

use super::{Outcome, keep::keep, shown};
use crate::{arguments::Arguments, context::Context, reply::Reply, text::count};
use tenure_ownership::{
    Pinning,
    owner::{self, Owner},
};
use tenure_value::{Object, Value};

/// Plans deletions.
pub async fn delete(arguments: &Arguments, context: &Context) -> Outcome {
    let references = arguments.references("objects");
    context.guard.check_number(references.len())?;
    let (mut plans, mut owners) = (Vec::new(), Vec::new());
    for reference in &references {
        let found = context.find(reference).await?;
        let managers: Vec<Owner> = found.read()?.managers.iter().map(Owner::from).collect();
        owners
            .push(Value::object([("object", found.target().to_value()), ("owners", owner::list(&managers))]));
        plans.push(tenure_client::deletion(&found)?);
    }
    let saved = tenure_client::save([], &plans, Pinning::Fields, context.now(), &context.cluster).await?;
    let kept = keep(saved, context)?;
    let shown = plans.iter().map(|plan| Value::Object(shown::plan(plan, "")));
    let data = Object::default()
        .with("result", "ready")
        .with("plans", Value::array(shown))
        .with("owners", Value::array(owners));
    let text = format!("ready: deletes {}; {}", count(plans.len(), "object"), kept.digest);
    let data = kept.add_to(data);
    Ok(Reply { data, text, next: kept.next(), untrusted: &["plans", "owners"], digest: Some(kept.digest) })
}
