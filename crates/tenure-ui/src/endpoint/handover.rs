//! Changes of ownership: transfer, release, adopt, migrate, with a preview; and their undo.

use super::{Acting, LiveRef, ObjectRef, digest, now, with};
use crate::{
    PageError,
    request::{flag, text, texts},
    session::{Applied, Reversal, UndoStep},
};
use http::Method;
use tenure_client::{ClientError, Cluster, Past, PastChange, Rebase};
use tenure_history::undo::OnConflict;
use tenure_ownership::{
    Handover, LiveObject,
    handover::{self, HandoverOutcome, Values, undo_file},
};
use tenure_schema::TypeRef;
use tenure_value::{Object, Value, json};

/// The request of the page.
struct Request {
    action: Action,
    paths: Vec<String>,
    from: Vec<String>,
    to: String,
    values: Values,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Transfer,
    Release,
    Adopt,
    Migrate,
}

const ACTIONS: [(&str, Action); 4] = [
    ("transfer", Action::Transfer),
    ("release", Action::Release),
    ("adopt", Action::Adopt),
    ("migrate", Action::Migrate),
];

impl Request {
    fn read(body: &Value) -> Result<Request, PageError> {
        let wanted = text(body, "action");
        let action = ACTIONS.iter().find(|(name, _)| *name == wanted).map(|(_, action)| *action);
        let action = action.ok_or_else(|| {
            PageError::bad_request(format!(
                "unknown action {wanted:?}; use transfer, release, adopt or migrate"
            ))
        })?;
        let request = Request {
            action,
            paths: texts(body, "paths"),
            from: texts(body, "from"),
            to: text(body, "to").trim().to_owned(),
            values: if flag(body, "keepValues") { Values::Keep } else { Values::Remove },
        };
        let missing = |what: &str| Err(PageError::bad_request(format!("{wanted}: {what}")));
        match action {
            Action::Transfer | Action::Release if request.paths.is_empty() => {
                missing("choose at least one field")
            }
            Action::Transfer | Action::Adopt | Action::Migrate if request.to.is_empty() => {
                missing("name the manager that becomes the owner")
            }
            Action::Adopt if request.from.is_empty() => missing("choose the managers to adopt from"),
            _ => Ok(request),
        }
    }

    fn step(&self, live: &LiveObject, ty: TypeRef<'static>) -> Result<HandoverOutcome, PageError> {
        Ok(match self.action {
            Action::Transfer => handover::transfer(live, ty, &self.paths, &self.from, &self.to, now())?,
            Action::Release => handover::release(live, ty, &self.paths, &self.from, self.values)?,
            Action::Adopt => handover::adopt(live, &self.from, &self.to, now()),
            Action::Migrate => handover::migrate(live, &self.from, &self.to, now()),
        })
    }

    fn title(&self, target: &str) -> String {
        let (paths, from) = (self.paths.join(", "), self.from.join(", "));
        match self.action {
            Action::Transfer => format!("transfer {paths} of {target} to {}", self.to),
            Action::Release => format!("release {paths} of {target}"),
            Action::Adopt => format!("adopt the fields of {from} in {target} as {}", self.to),
            Action::Migrate => format!("migrate {target} to server-side apply as {}", self.to),
        }
    }
}

/// Shows what a change of ownership would do.
pub(crate) async fn preview(cluster: &Cluster, body: &Value) -> Result<Value, PageError> {
    let request = Request::read(body)?;
    let LiveRef { live, ty, .. } = ObjectRef::from_document(body)?.read(cluster).await?;
    let shown = Handover::new(&live, request.step(&live, ty)?, ty).to_value();
    let digest = digest(&shown);
    Ok(with(shown, "digest", digest))
}

/// Carries out the change of ownership that was shown.
pub(crate) async fn carry_out(acting: Acting<'_>, body: &Value) -> Result<Value, PageError> {
    let Acting { session, cluster, context } = acting;
    let request = Request::read(body)?;
    let LiveRef { found, live, ty } = ObjectRef::from_document(body)?.read(cluster).await?;
    let compute = |live: &LiveObject| -> Result<Handover, PageError> {
        Ok(Handover::new(live, request.step(live, ty)?, ty))
    };
    let handover = compute(&live)?;
    let target = found.target().to_string();
    if digest(&handover.to_value()) != text(body, "digest") {
        return Err(PageError::Changed { what: target });
    }
    let undo = tenure_client::hand_over::<PageError>(&found, handover, compute, cluster).await?;
    let id = session.keep(context, request.title(&target), Reversal::Handover(Box::new(undo)));
    Ok(Value::object([("id", Value::from(id as i64))]))
}

/// Lists the steps that the signed-in user can undo, the latest first; those of handovers with the file that `tenure undo` takes.
pub(crate) fn steps(acting: Acting<'_>) -> Value {
    let step = |step: &UndoStep| {
        let shown = Object::default().with("id", step.id as i64).with("title", step.title.as_str());
        Value::Object(match &step.reversal {
            Reversal::Handover(undo) => shown.with("file", undo_file(std::slice::from_ref(undo))),
            Reversal::Apply(_) => shown,
        })
    };
    Value::object([("steps", Value::array(acting.session.steps(acting.context).iter().map(step)))])
}

/// Undoes a step. If the object was changed since, only on request.
pub(crate) async fn undo(acting: Acting<'_>, body: &Value) -> Result<Value, PageError> {
    let Acting { session, cluster, context } = acting;
    let id = body.get("id").and_then(Value::as_i64).and_then(|id| usize::try_from(id).ok());
    let step = session.steps(context).into_iter().find(|step| Some(step.id) == id);
    let step = step.ok_or_else(|| PageError::bad_request("this step was undone already"))?;
    let rebase = if flag(body, "rebase") { Rebase::Yes } else { Rebase::No };
    match &step.reversal {
        Reversal::Handover(undo) => {
            tenure_client::undo(undo, rebase, cluster).await?;
        }
        Reversal::Apply(objects) => {
            // In the order in which they came to be, the last one first.
            for applied in objects.iter().rev() {
                take_back(applied, rebase, cluster).await?;
            }
        }
    }
    session.forget(step.id);
    Ok(Value::object([("title", Value::from(step.title))]))
}

/// Brings an object back to what it was before an apply, which deletes one that the apply created.
async fn take_back(applied: &Applied, rebase: Rebase, cluster: &Cluster) -> Result<(), PageError> {
    let Applied { resource: (api_version, plural), before, after } = applied;
    let kind = super::KindRef { api_version: api_version.clone(), plural: plural.clone() };
    let past = Past::new(kind.find(cluster).await?, after.namespace(), after.name());
    let what = past.what();
    let Some(before) = before else {
        let Some(live) = cluster.find_live(&past.path).await? else { return Ok(()) };
        if live.resource_version() != after.resource_version() && rebase == Rebase::No {
            return Err(PageError::ChangedSince { what });
        }
        let version = Value::object([("resourceVersion", live.resource_version())]);
        let options = Value::object([("preconditions", version)]);
        let body = Some(("application/json", json::to_vec(&options)));
        let response = cluster.send(Method::DELETE, &past.path, "application/json", body).await?;
        return response.success("delete", &what).map(drop).map_err(ClientError::into);
    };
    let change = PastChange::between(past, before.clone(), after.clone(), cluster).await?;
    let plan = change.plan(change.past.type_of(cluster).await?, OnConflict::Keep)?;
    match (change.is_last(), rebase) {
        (true, _) => change.carry_out_wholly(&plan, cluster).await?,
        (false, Rebase::Yes) => change.carry_out(&plan, cluster).await?,
        (false, Rebase::No) => return Err(PageError::ChangedSince { what }),
    }
    Ok(())
}
