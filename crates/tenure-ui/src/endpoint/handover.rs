//! Changes of ownership: transfer, release, adopt, migrate, with a preview.

use super::{Acting, LiveRef, ObjectRef, digest, now, with};
use crate::{
    PageError,
    request::{flag, text, texts},
};
use tenure_client::{Cluster, UndoStep, Undoable};
use tenure_ownership::{
    Handover, LiveObject,
    handover::{self, HandoverOutcome, Values},
};
use tenure_schema::TypeRef;
use tenure_value::Value;

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
    let Acting { session, cluster } = acting;
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
    let id = session.undo_steps.keep(UndoStep {
        title: request.title(&target),
        server: cluster.server().to_owned(),
        time: Some(now()),
        undoable: Undoable::Owners(vec![undo]),
    });
    Ok(Value::object([("id", Value::from(id))]))
}
