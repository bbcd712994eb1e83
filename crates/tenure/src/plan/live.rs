//! The plan as a server sees it: the object as it is, and a dry run of the apply. What the answer does not say, the
//! values and all holders of a contested field, is looked up in the live object, so that every server will do.

use super::{
    Contest, Draft, Plan, Verdict, findings, holders_of,
    offline::{self, Base},
};
use crate::{
    Error,
    cluster::{APPLY, Cluster, Refusal, Reply, escaped},
    live::LiveObject,
};
use tenure_apply::{ApplyError, Timestamp};
use tenure_fields::{FieldSet, Path};
use tenure_value::Value;

/// Who applies, and what they take without asking.
#[derive(Clone, Debug)]
pub struct Applier {
    /// The manager's name.
    pub manager: String,
    /// Which contested fields are taken.
    pub force: Force,
    /// The time, for what is worked out here.
    pub now: Timestamp,
}

/// Which contested fields an apply takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Force {
    /// None.
    #[default]
    Nothing,
    /// These and what is below them.
    Paths(Vec<String>),
    /// All.
    Everything,
}

/// Whether a request is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It is tried.
    DryRun,
    /// It is carried out.
    ForReal,
}

impl Applier {
    /// Returns the query of an apply.
    fn query(&self, force: &Force, mode: Mode) -> String {
        let mut query = format!("?fieldManager={}&fieldValidation=Strict", escaped(&self.manager));
        match force {
            Force::Nothing => {}
            Force::Paths(paths) => {
                paths.iter().for_each(|path| query += &format!("&force-path={}", escaped(path)));
            }
            Force::Everything => query += "&force=true",
        }
        if mode == Mode::DryRun {
            query += "&dryRun=All";
        }
        query
    }

    /// Sends an apply. Where single fields are to be taken, a server that does not know how is led there: if nothing
    /// but those fields is contested, all is forced, but only on the object as it was looked at.
    pub async fn send(
        &self,
        draft: &Draft,
        path: &str,
        before: Option<&LiveObject>,
        mode: Mode,
        cluster: &Cluster,
    ) -> Result<Reply, Error> {
        let reply =
            cluster.patch(&format!("{path}{}", self.query(&self.force, mode)), APPLY, &draft.config).await?;
        let (Force::Paths(paths), Some(before)) = (&self.force, before) else { return Ok(reply) };
        let refusal = reply.refusal();
        if !refusal.is_contested()
            || !refusal.contested().iter().all(|field| is_within(field, paths, before, draft))
        {
            return Ok(reply);
        }
        let guarded = guarded(&draft.config, &before.object);
        cluster.patch(&format!("{path}{}", self.query(&Force::Everything, mode)), APPLY, &guarded).await
    }

    /// Returns what an apply would do.
    pub async fn plan(&self, draft: &Draft, company: &[Draft], cluster: &Cluster) -> Result<Plan, Error> {
        let Some(path) = draft.path() else {
            return self.plan_of_unserved(draft, company);
        };
        let before = cluster.find_live(&path).await?;
        let reply = self.send(draft, &path, before.as_ref(), Mode::DryRun, cluster).await?;
        let warnings = reply.warnings.clone();
        let refusal = (!reply.is_success()).then(|| reply.refusal());
        let verdict = match refusal {
            None => Verdict::Applied(self.read(draft, &reply.value)?),
            Some(refusal) if refusal.is_contested() => {
                let contests = contests(&refusal, draft, before.as_ref());
                let forced = Applier { force: Force::Everything, ..self.clone() };
                let forced = forced.send(draft, &path, None, Mode::DryRun, cluster).await?;
                let forced = if forced.is_success() { Some(self.read(draft, &forced.value)?) } else { None };
                Verdict::Contested(contests, forced)
            }
            Some(refusal) if before.is_none() && refusal.code == 404 && comes_with(draft, company) => {
                return Ok(offline::plan(draft, &Base::new(None), self).with_warnings(warnings));
            }
            Some(refusal) => draft.refused(refusal.message),
        };
        Ok(self.finish(draft, before, verdict, warnings))
    }

    /// Returns the plan for an object whose kind is not served: it can only come to be, if its definition does too.
    fn plan_of_unserved(&self, draft: &Draft, company: &[Draft]) -> Result<Plan, Error> {
        if defines(draft, company) {
            return Ok(offline::plan(draft, &Base::new(None), self));
        }
        let problem = format!(
            "the server has no kind {} in {}; check apiVersion and kind, or apply its definition first",
            draft.target.kind, draft.target.api_version
        );
        Ok(self.finish(draft, None, draft.refused(problem), Vec::new()))
    }

    fn read(&self, draft: &Draft, shown: &Value) -> Result<LiveObject, Error> {
        LiveObject::read(shown).map_err(|error: ApplyError| Error::strange(&draft.target, error))
    }

    /// Completes a plan with what else there is to say.
    pub(super) fn finish(
        &self,
        draft: &Draft,
        before: Option<LiveObject>,
        verdict: Verdict,
        warnings: Vec<String>,
    ) -> Plan {
        let mut plan = Plan {
            target: draft.target.clone(),
            zeros: findings::zeros(&draft.config, draft.ty, &self.manager, before.as_ref()),
            before,
            verdict,
            lingering: Vec::new(),
            warnings,
            declared: FieldSet::of(&draft.config, draft.ty).unwrap_or_default(),
            ty: draft.ty,
        };
        plan.lingering =
            findings::lingering(&draft.config, draft.ty, &self.manager, plan.before.as_ref(), plan.after());
        plan
    }
}

/// Returns the contested fields with their values and all their holders.
fn contests(refusal: &Refusal, draft: &Draft, before: Option<&LiveObject>) -> Vec<Contest> {
    let contest = |field: &&str| {
        let live = before.map(|before| &before.object);
        let path = Path::parse_in(field, draft.ty, live)
            .or_else(|_| Path::parse_in(field, draft.ty, Some(&draft.config)));
        let path = path.unwrap_or_default();
        Contest {
            holders: before.map(|before| holders_of(&before.managers, &path)).unwrap_or_default(),
            live: live.and_then(|live| path.resolve(live, draft.ty)).cloned(),
            proposed: path.resolve(&draft.config, draft.ty).cloned(),
            path,
        }
    };
    refusal.contested().iter().map(contest).collect()
}

/// Whether a contested field is at or below one of the paths that are to be taken.
fn is_within(field: &str, paths: &[String], before: &LiveObject, draft: &Draft) -> bool {
    let read = |text: &str| Path::parse_in(text, draft.ty, Some(&before.object)).ok();
    let Some(field) = read(field) else { return false };
    paths.iter().filter_map(|path| read(path)).any(|path| field.starts_with(&path))
}

/// Returns a manifest that is refused unless the object is still the one that was looked at.
pub fn guarded(config: &Value, seen: &Value) -> Value {
    let version = seen.at(["metadata", "resourceVersion"]);
    let metadata = config.get("metadata").and_then(Value::as_object);
    match (config.as_object(), metadata, version) {
        (Some(object), Some(metadata), Some(version)) => {
            Value::Object(object.with("metadata", metadata.with("resourceVersion", version.clone())))
        }
        _ => config.clone(),
    }
}

/// Whether what an object needs to exist is about to be made.
fn comes_with(draft: &Draft, company: &[Draft]) -> bool {
    let namespace =
        |other: &&Draft| other.target.word == "namespace" && other.target.name == draft.target.namespace;
    company.iter().any(|other| namespace(&other)) || defines(draft, company)
}

fn defines(draft: &Draft, company: &[Draft]) -> bool {
    company.iter().filter(|other| other.target.kind == "CustomResourceDefinition").any(|other| {
        let text = |path: [&str; 2]| other.config.at(path).and_then(Value::as_str);
        let kind = other.config.at(["spec", "names", "kind"]).and_then(Value::as_str);
        let group = draft.target.api_version.split_once('/').map(|(group, _)| group);
        kind == Some(&draft.target.kind) && text(["spec", "group"]) == group
    })
}
