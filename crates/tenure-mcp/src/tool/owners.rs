//! `blame` and `why`: who owns a field, and what follows from it.

use super::{Outcome, shown};
use crate::{
    arguments::Arguments,
    context::Context,
    reply::{Next, Reply},
    text::{count, quoted},
};
use tenure_ownership::{Blame, Explanation};
use tenure_value::Value;

/// Returns the owners of fields.
pub async fn blame(arguments: &Arguments, context: &Context) -> Outcome {
    let (found, live, ty) = context.live(&arguments.reference()?).await?;
    let texts = arguments.texts("fields");
    let paths = texts.iter().map(|text| live.field(text, ty)).collect::<Result<Vec<_>, _>>()?;
    let blame = Blame::of(&live, ty).below(&paths, &live, ty).only(&arguments.texts("managers"));
    let managers: Vec<String> = blame.managers.iter().map(|name| quoted(name)).collect();
    let target = found.target();
    let text = format!(
        "{}: {}; the managers are {}",
        shown::name(&target),
        count(blame.fields.len(), "field"),
        managers.join(", ")
    );
    let why = "what each kind of write to a field would do";
    let next = vec![Next::call("why", Value::object([("object", shown::reference(&target))]), why)];
    let data = blame.to_value().as_object().cloned().unwrap_or_default();
    Ok(Reply { data, text, next, untrusted: &["object", "fields", "absent"], digest: None })
}

/// Explains a field.
pub async fn why(arguments: &Arguments, context: &Context) -> Outcome {
    let (found, live, ty) = context.live(&arguments.reference()?).await?;
    let field = arguments.text("field").unwrap_or_default();
    let explanation =
        Explanation::of(&live, found.target(), field, ty, context.cluster.profile().await?, context.now())?;
    let owners: Vec<String> = explanation.owners.iter().map(|owner| quoted(&owner.name)).collect();
    let owners = if owners.is_empty() { "nobody".to_owned() } else { owners.join(", ") };
    let text =
        format!("{} of {}: owned by {owners}", explanation.path.quoted(), shown::name(&explanation.target));
    let next = vec![Next::call("plan", Value::Null, "plan the change; a conflict comes with its remedies")];
    let data = explanation.to_value().as_object().cloned().unwrap_or_default();
    Ok(Reply {
        data,
        text,
        next,
        untrusted: &["object", "value", "owners", "advice", "writes"],
        digest: None,
    })
}
