//! `plan`: a server-side apply by the manager of a task, and deletions. It is ready only if it has no conflicts, or each is settled by its
//! path, and if no field that the task owned vanishes without being named.

use super::{Outcome, keep::keep, shown};
use crate::{
    arguments::Arguments,
    context::Context,
    reply::{Failure, Next, Reason, Reply},
};
use futures::{StreamExt, TryStreamExt, stream};
use std::collections::{HashMap, HashSet};
use tenure_apply::Operation;
use tenure_client::{Draft, REQUESTS_AT_ONCE};
use tenure_fields::{FieldSet, Path, PathElement};
use tenure_ownership::{
    Action, ApplyingManager, Difference, ForcedFields, LiveObject, Pinning, Plan, Settlement, settle,
};
use tenure_value::{Object, Value};

/// Plans a change.
pub async fn plan(arguments: &Arguments, context: &Context) -> Outcome {
    let manager = arguments.manager()?;
    let references = arguments.references("delete");
    let drafts = drafts(arguments, context, references.len()).await?;
    if drafts.is_empty() && references.is_empty() {
        return Err(Failure::new(Reason::InvalidArguments, "there is nothing to plan")
            .at("manifests")
            .suggest("give manifests, yaml or delete"));
    }
    let mut deletions = Vec::with_capacity(references.len());
    for reference in &references {
        deletions.push(tenure_client::deletion(&context.find(reference).await?)?);
    }
    let applier = ApplyingManager { manager: manager.clone(), force: ForcedFields::None, now: context.now() };
    let together = drafts.as_slice();
    let applier = &applier;
    let planned: Vec<_> =
        drafts.iter().map(|draft| planned(draft, applier, arguments, together, context)).collect();
    let planned: Vec<Settled> = stream::iter(planned).buffered(REQUESTS_AT_ONCE).try_collect().await?;
    let plans = || planned.iter().map(|one| &one.plan).chain(&deletions);
    let (mut shown_plans, mut vanishing) = (Vec::new(), Vec::new());
    for one in &planned {
        let removals = removals(one, &manager, arguments);
        let list = Value::array(removals.iter().map(shown::difference));
        vanishing.extend(removals);
        shown_plans.push(Value::Object(shown::plan(&one.plan, &manager).with("removals", list)));
    }
    shown_plans.extend(deletions.iter().map(|plan| Value::Object(shown::plan(plan, &manager))));
    let has = |action: Action| plans().any(|plan| plan.action() == action);
    let result = match () {
        () if has(Action::Refused) => "refused",
        () if has(Action::Conflict) => "conflicts",
        () if !vanishing.is_empty() => "removals",
        () if plans().all(|plan| plan.action() == Action::Unchanged) => "unchanged",
        () => "ready",
    };
    let mut data = Object::default()
        .with("result", result)
        .with("manager", manager.as_str())
        .with("plans", Value::array(shown_plans));
    let mut text = format!("{result} ({})", shown::summary(plans()));
    let (mut digest, mut next) = (None, Vec::new());
    match result {
        "ready" => {
            let pinning = arguments.text("pin").and_then(Pinning::parse).unwrap_or(Pinning::Fields);
            let applies = planned.iter().map(|one| (&one.draft, &one.applier, &one.plan));
            let saved =
                tenure_client::save(applies, &deletions, pinning, context.now(), &context.cluster).await?;
            let kept = keep(saved, context)?;
            data = kept.add_to(data);
            next = kept.next();
            text += &format!("; {}", kept.digest);
            digest = Some(kept.digest);
        }
        "conflicts" => next.push(Next::call(
            "plan",
            Value::Null,
            "choose a remedy of each cause; the gentlest is first, and most conflicts need no force",
        )),
        "removals" => {
            text += &format!("; {manager} would remove {}", paths(&vanishing));
            next.push(Next::call(
                "plan",
                Value::Null,
                "the same call with these fields in the manifest, so that they stay",
            ));
            let listed = Value::array(vanishing.iter().map(|one| Value::from(one.path.quoted().to_string())));
            let remove = Value::object([("remove", listed)]);
            next.push(Next::call("plan", remove, "the same call with this, if they are to be removed"));
        }
        "refused" => {
            next.push(Next::call("plan", Value::Null, "correct what error and problems name, and plan again"))
        }
        _ => {}
    }
    Ok(Reply { data, text, next, untrusted: &["plans"], digest })
}

/// Reads the manifests of a call; each describes another object that may be changed.
pub async fn drafts(arguments: &Arguments, context: &Context, further: usize) -> Result<Vec<Draft>, Failure> {
    let manifests = arguments.manifests()?;
    context.guard.check_number(manifests.len() + further)?;
    let (mut drafts, mut seen) = (Vec::with_capacity(manifests.len()), HashSet::new());
    for (config, place) in manifests {
        let draft = Draft::new(config, place.clone(), &context.cluster).await?;
        let target = &draft.manifest.target;
        match &draft.resource {
            Some(resource) => context.guard.check(resource, &target.namespace)?,
            // A kind that the server does not have yet cannot be one of those that are allowed.
            None if context.guard.shows(None, "") => {}
            None => {
                let message = context.cluster.lacks_kind(&target.api_version, &target.kind).await?;
                return Err(Failure::new(Reason::NotFound, message).at(format!("{place}.kind")));
            }
        }
        if !seen.insert((target.word.clone(), target.namespace.clone(), target.name.clone())) {
            let message = format!("{place}: {} is planned twice", shown::name(target));
            return Err(Failure::new(Reason::InvalidArguments, message)
                .at(place)
                .suggest("put its fields into one manifest"));
        }
        drafts.push(draft);
    }
    Ok(drafts)
}

/// A draft after its conflicts were settled.
struct Settled {
    draft: Draft,
    applier: ApplyingManager,
    plan: Plan,
}

/// Plans a draft; conflicts that the call names are settled, and it is planned again.
async fn planned(
    draft: &Draft,
    applier: &ApplyingManager,
    arguments: &Arguments,
    together: &[Draft],
    context: &Context,
) -> Result<Settled, Failure> {
    let plan = tenure_client::plan(draft, together, applier, &context.cluster).await?;
    let (mut draft, mut applier) = (draft.clone(), applier.clone());
    let settlements = settlements(arguments, plan.before.as_ref(), &draft);
    let mut is_settled = false;
    for conflict in plan.conflicts() {
        let Some(how) = prefixes(&conflict.path).find_map(|part| settlements.get(part)) else { continue };
        settle(*how, conflict, plan.before.as_ref(), &mut draft.manifest, &mut applier);
        is_settled = true;
    }
    if !is_settled {
        return Ok(Settled { draft, applier, plan });
    }
    let applier = applier.for_manifest(&draft.manifest);
    let plan = tenure_client::plan(&draft, together, &applier, &context.cluster).await?;
    Ok(Settled { draft, applier, plan })
}

/// Returns how the call settles conflicts, by the path of a field or of a part with several.
fn settlements(
    arguments: &Arguments,
    before: Option<&LiveObject>,
    draft: &Draft,
) -> HashMap<Vec<PathElement>, Settlement> {
    let settlement = |given: &Value| {
        let text = |name: &str| given.get(name).and_then(Value::as_str).unwrap_or_default();
        let how = match text("how") {
            "leave_out" => Settlement::LeaveOut,
            "share" => Settlement::Share,
            "take" => Settlement::Take,
            _ => return None,
        };
        Some((path_in(text("path"), before, draft)?.to_vec(), how))
    };
    arguments.items("settle").iter().filter_map(settlement).collect()
}

/// Returns the parts of a document that lead to a path, and the path itself.
fn prefixes(path: &Path) -> impl Iterator<Item = &[PathElement]> {
    (1..=path.len()).filter_map(|end| path.get(..end))
}

/// Reads a path, which may be of the live object or of the manifest.
fn path_in(text: &str, before: Option<&LiveObject>, draft: &Draft) -> Option<Path> {
    let ty = draft.manifest.ty;
    let live = before.and_then(|before| Path::parse_in(text, ty, Some(&before.object)).ok());
    live.or_else(|| Path::parse_in(text, ty, Some(&draft.manifest.config)).ok())
        .filter(|path| !path.is_empty())
}

/// Returns the values that would vanish or be reset because the manager owned them and the manifest leaves them out, but for those that
/// the call names.
fn removals(one: &Settled, manager: &str, arguments: &Arguments) -> Vec<Difference> {
    let Settled { draft, plan, .. } = one;
    if plan.before.is_none() {
        return Vec::new();
    }
    let own = plan
        .owners
        .iter()
        .filter(|change| change.owner.name.as_str() == manager && change.owner.operation == Operation::Apply);
    let given_up =
        own.fold(FieldSet::default(), |fields, change| fields.union(&change.removed).union(&change.lost));
    let texts = arguments.texts("remove");
    let named = texts.iter().filter_map(|text| path_in(text, plan.before.as_ref(), draft));
    let named: HashSet<Vec<PathElement>> = named.map(|path| path.to_vec()).collect();
    let is_dropped = |path: &Path| prefixes(path).any(|part| given_up.has(part));
    let is_named = |path: &Path| prefixes(path).any(|part| named.contains(part));
    let values = plan.shown_values().into_iter();
    values.filter(|one| one.before.is_some() && is_dropped(&one.path) && !is_named(&one.path)).collect()
}

/// The most paths that a sentence names.
const NAMED: usize = 5;

fn paths(differences: &[Difference]) -> String {
    let named: Vec<String> =
        differences.iter().take(NAMED).map(|one| one.path.quoted().to_string()).collect();
    match differences.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
