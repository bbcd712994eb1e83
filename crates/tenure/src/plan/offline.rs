//! The plan without a server: the apply is worked out here, on a live object from a file. What only a server does,
//! filling in defaults and validating, is not part of it.

use super::{
    Contest, Draft, Plan, Verdict,
    live::{Applier, Force},
};
use crate::live::LiveObject;
use tenure_apply::{
    self as apply, ApplyError, Conflicts, Live, Managers, Presence, Reset, SingleVersion, State, Versions,
    Write,
};
use tenure_fields::{FieldSet, Path, PathElement};
use tenure_schema::TypeRef;
use tenure_value::Value;

/// The object that a manifest finds.
pub struct Base {
    live: Option<LiveObject>,
}

impl Base {
    /// Takes the live object, if there is one.
    pub fn new(live: Option<LiveObject>) -> Base {
        Base { live }
    }
}

/// The versions of a kind as far as they are known here: other versions name fields in the same words.
struct SameWords<'s>(SingleVersion<'s>, TypeRef<'s>);

impl Versions for SameWords<'_> {
    fn type_of(&self, _: &str) -> Option<TypeRef<'_>> {
        Some(self.1)
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        self.0.convert(object, api_version)
    }
}

/// Works out what an apply would do.
pub fn plan(draft: &Draft, base: &Base, applier: &Applier) -> Plan {
    let (api_version, kind) = (draft.target.api_version.as_str(), draft.target.kind.as_str());
    let empty = Value::object([("apiVersion", Value::from(api_version)), ("kind", Value::from(kind))]);
    let versions = SameWords(SingleVersion::new(api_version, draft.ty), draft.ty);
    // The status has an endpoint of its own wherever there is one.
    let mut status = FieldSet::default();
    status.insert(&[PathElement::field("status")]);
    let write = Write {
        manager: &applier.manager,
        api_version,
        subresource: "",
        now: Some(applier.now),
        versions: &versions,
        reset: Reset::Fields(&status),
        empty: &empty,
        behavior: tenure_apply::Behavior::default(),
    };
    let nobody = Managers::default();
    let live = match &base.live {
        Some(live) => Live { object: &live.object, managers: &live.managers, presence: Presence::Stored },
        None => Live { object: &empty, managers: &nobody, presence: Presence::New },
    };
    let attempt = |force: &Force| carry_out(live, draft, &write, force);
    let verdict = match attempt(&applier.force) {
        Ok(state) => Verdict::Applied(read(state)),
        Err(ApplyError::Conflicts(conflicts)) => {
            Verdict::Contested(contests(&conflicts), attempt(&Force::Everything).ok().map(read))
        }
        Err(error) => draft.refused(error),
    };
    applier.finish(draft, base.live.clone(), verdict, Vec::new())
}

fn carry_out(live: Live<'_>, draft: &Draft, write: &Write<'_>, force: &Force) -> Result<State, ApplyError> {
    let paths = match force {
        Force::Paths(paths) => {
            paths.iter().filter_map(|path| Path::parse_in(path, draft.ty, Some(live.object)).ok())
        }
        _ => {
            return apply::apply(
                live,
                &draft.config,
                write,
                if *force == Force::Everything { apply::Force::All } else { apply::Force::No },
            );
        }
    };
    let mut set = FieldSet::default();
    for path in paths {
        set.insert(&path);
    }
    apply::apply(live, &draft.config, write, apply::Force::Paths(&set))
}

fn read(state: State) -> LiveObject {
    LiveObject { object: state.object, managers: state.managers }
}

fn contests(conflicts: &Conflicts) -> Vec<Contest> {
    let contest = |conflict: &apply::Conflict| Contest {
        path: conflict.path.clone(),
        holders: conflict.owners.clone(),
        live: conflict.live.clone(),
        proposed: conflict.proposed.clone(),
    };
    conflicts.iter().map(contest).collect()
}
