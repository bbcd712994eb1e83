//! Plans, owners and objects as results show them.

use crate::{
    reply::Next,
    text::{count, quoted},
};
use tenure_fields::Path;
use tenure_ownership::{
    Action, Blame, Diagnosis, Difference, Plan, Target,
    diagnosis::{Remedy, RemedyKind},
    owner,
};
use tenure_value::{Object, Value};

/// Returns texts as a list.
pub fn texts(list: &[String]) -> Value {
    Value::array(list.iter().map(|text| Value::from(text.as_str())))
}

/// Returns an object in a few words.
pub fn name(target: &Target) -> String {
    match target.namespace.as_str() {
        "" => format!("{} {}", target.word, quoted(&target.name)),
        namespace => format!("{} {} in {}", target.word, quoted(&target.name), quoted(namespace)),
    }
}

/// Returns the reference of an object, as tools take it.
pub fn reference(target: &Target) -> Value {
    let object = Object::default().with("kind", target.word.as_str()).with("name", target.name.as_str());
    Value::Object(match target.namespace.as_str() {
        "" => object,
        namespace => object.with("namespace", namespace),
    })
}

/// Returns the owners of fields, without values.
pub fn owned(blame: &Blame) -> Value {
    let owned = blame.fields.iter().filter(|field| !field.owners.is_empty());
    Value::array(owned.map(|field| {
        let path = Value::from(field.path.quoted().to_string());
        Value::object([("path", path), ("owners", owner::list(&field.owners))])
    }))
}

/// Returns a difference.
pub fn difference(difference: &Difference) -> Value {
    let mut object = Object::default().with("path", difference.path.quoted().to_string());
    for (name, side) in [("before", &difference.before), ("after", &difference.after)] {
        if let Some(value) = side {
            object = object.with(name, value.clone());
        }
    }
    Value::Object(object)
}

/// Returns a plan, with remedies as calls of tools.
pub fn plan(plan: &Plan, manager: &str) -> Object {
    let document = plan.to_value().as_object().cloned().unwrap_or_default();
    let causes = plan.causes.iter().map(|cause| diagnosis(cause, &plan.target, manager));
    document.with("causes", Value::array(causes))
}

fn diagnosis(diagnosis: &Diagnosis, target: &Target, manager: &str) -> Value {
    let paths = diagnosis.paths.iter().map(|path| Value::from(path.quoted().to_string()));
    let remedies = diagnosis.remedies.iter().map(|remedy| shown_remedy(remedy, diagnosis, target, manager));
    Value::Object(
        Object::default()
            .with("owner", owner::to_value(&diagnosis.owner))
            .with("who", diagnosis.who.as_str())
            .with("cause", diagnosis.cause.word())
            .with("paths", Value::array(paths))
            .with("message", diagnosis.sentence.as_str())
            .with("remedies", Value::array(remedies)),
    )
}

fn shown_remedy(remedy: &Remedy, diagnosis: &Diagnosis, target: &Target, manager: &str) -> Value {
    let paths = || diagnosis.paths.iter().map(|path: &Path| path.quoted().to_string());
    let settled = |how: &'static str| {
        let settle =
            paths().map(|path| Value::object([("path", Value::from(path)), ("how", Value::from(how))]));
        let task = manager.strip_prefix("agent/").unwrap_or(manager);
        let arguments = Value::object([("task", Value::from(task)), ("settle", Value::array(settle))]);
        Next::call("plan", arguments, "the same call again, with the same manifests and this")
    };
    let moved = |further: Object| {
        let arguments = further.with("object", reference(target)).with("to", manager);
        Next::call(
            "transfer",
            Value::Object(arguments),
            "a plan that moves the fields; carry it out, then plan again",
        )
    };
    let from = Value::array([Value::from(diagnosis.owner.name.as_str())]);
    let (cost, call) = match remedy.kind {
        RemedyKind::LeaveOut => ("your value is not set", settled("leave_out")),
        RemedyKind::Share => (
            "your value is not set; whoever changes the value later conflicts with the other",
            settled("share"),
        ),
        RemedyKind::Transfer => {
            let all: Vec<String> = paths().collect();
            (
                "the owner loses these fields and does not notice before its next apply, which conflicts",
                moved(Object::default().with("paths", texts(&all)).with("from", from)),
            )
        }
        RemedyKind::Adopt => (
            "the owner loses everything that it owns of this object",
            moved(Object::default().with("from", from)),
        ),
        RemedyKind::Migrate => (
            "the object is no longer applied on the client: whoever did so must use server-side apply from now on",
            moved(Object::default().with("client_side", true)),
        ),
        RemedyKind::Take => {
            ("the owner's value is overwritten; if it still runs, it sets its value again", settled("take"))
        }
    };
    Value::Object(
        Object::default()
            .with("kind", remedy.kind.word())
            .with("effect", remedy.effect.as_str())
            .with("cost", cost)
            .with("call", call.to_value()),
    )
}

/// Returns plans in a few words: how many objects have which action.
pub fn summary<'p>(plans: impl Iterator<Item = &'p Plan> + Clone) -> String {
    let actions = [
        Action::Create,
        Action::Change,
        Action::Owners,
        Action::Delete,
        Action::Conflict,
        Action::Refused,
        Action::Unchanged,
    ];
    let counted = actions.into_iter().filter_map(|action| {
        let number = plans.clone().filter(|plan| plan.action() == action).count();
        (number > 0).then(|| format!("{}: {}", action.word(), count(number, "object")))
    });
    counted.collect::<Vec<_>>().join(", ")
}
