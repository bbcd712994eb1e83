//! Why a conflict exists, in terms of the tools involved, and what to do about it. A [`Diagnosis`] is about one owner of one conflicting
//! field: who the owner is, the cause, and the remedies, the gentlest first. It is derived from the object, its managers, the manifest
//! and the table of known managers; nothing is guessed from the clock or from other objects.

mod advice;
mod application;
mod remedy;
mod tool;

pub use advice::Advice;
pub use application::{Application, applications, controller};
pub use remedy::{CommandLine, Remedy, RemedyKind, shell_word};
pub use tool::{KNOWN_MANAGERS, Role, Tool, recognize};

use crate::{
    ApplyingManager, Conflict, LiveObject, Manifest,
    default_value::default_at,
    owner::{self, Owner},
};
use tenure_apply::Operation;
use tenure_fields::{Path, PathElement};
use tenure_value::{Object, Value};

/// Containers that admission webhooks of service meshes and secret stores add to pods.
const INJECTED_CONTAINERS: [&str; 6] =
    ["istio-proxy", "istio-init", "linkerd-proxy", "linkerd-init", "vault-agent", "vault-agent-init"];

/// Why another manager owns a field that an apply wants to set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConflictCause {
    /// The object belongs to another release or application than the manifest.
    OtherApplication,
    /// An autoscaler sets the number of replicas or the resources.
    Autoscaler,
    /// Client-side apply, or Helm 3, wrote the field and left an Update entry.
    ClientSideApply,
    /// The same tool wrote it under another name or with another operation.
    SameTool,
    /// The manifest writes a zero or default value out.
    DefaultValue,
    /// A person changed it with a command or a user interface.
    ChangedByHand,
    /// An admission webhook added it.
    Injected,
    /// A controller maintains it.
    Controller,
    /// A client wrote it whose name does not tell what it is.
    AnonymousClient,
    /// Another manager applies it.
    OtherApplier,
    /// Another program wrote it.
    OtherWriter,
}

impl ConflictCause {
    /// All causes, in the order in which they are looked for.
    pub const ALL: [ConflictCause; 11] = [
        ConflictCause::OtherApplication,
        ConflictCause::Autoscaler,
        ConflictCause::ClientSideApply,
        ConflictCause::SameTool,
        ConflictCause::ChangedByHand,
        ConflictCause::Injected,
        ConflictCause::DefaultValue,
        ConflictCause::Controller,
        ConflictCause::AnonymousClient,
        ConflictCause::OtherApplier,
        ConflictCause::OtherWriter,
    ];

    /// Returns the cause in a few words.
    pub fn title(self) -> &'static str {
        match self {
            ConflictCause::OtherApplication => "the object belongs to another release or application",
            ConflictCause::Autoscaler => "an autoscaler sets the field",
            ConflictCause::ClientSideApply => "left behind by client-side apply",
            ConflictCause::SameTool => "the same tool under another name",
            ConflictCause::DefaultValue => "a zero or default value that the manifest writes out",
            ConflictCause::ChangedByHand => "changed by hand",
            ConflictCause::Injected => "injected by an admission webhook",
            ConflictCause::Controller => "maintained by a controller",
            ConflictCause::AnonymousClient => "written by a client without a name of its own",
            ConflictCause::OtherApplier => "another manager applies the field, too",
            ConflictCause::OtherWriter => "another program wrote the field",
        }
    }

    /// Whether the owner has left the field for good, so that moving it to the applier settles the conflict.
    pub fn is_left_over(self) -> bool {
        matches!(
            self,
            ConflictCause::ClientSideApply
                | ConflictCause::SameTool
                | ConflictCause::ChangedByHand
                | ConflictCause::AnonymousClient
        )
    }

    /// Whether somebody else is to set the field, so that the manifest should leave it out.
    pub fn is_someone_elses(self) -> bool {
        matches!(
            self,
            ConflictCause::Autoscaler
                | ConflictCause::Injected
                | ConflictCause::Controller
                | ConflictCause::DefaultValue
        )
    }

    /// Returns the name of the cause for programs.
    pub fn word(self) -> &'static str {
        match self {
            ConflictCause::OtherApplication => "OtherApplication",
            ConflictCause::Autoscaler => "Autoscaler",
            ConflictCause::ClientSideApply => "ClientSideApply",
            ConflictCause::SameTool => "SameTool",
            ConflictCause::DefaultValue => "DefaultValue",
            ConflictCause::ChangedByHand => "ChangedByHand",
            ConflictCause::Injected => "Injected",
            ConflictCause::Controller => "Controller",
            ConflictCause::AnonymousClient => "AnonymousClient",
            ConflictCause::OtherApplier => "OtherApplier",
            ConflictCause::OtherWriter => "OtherWriter",
        }
    }
}

/// The cause of conflicts with one owner, and their remedies.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// The owner.
    pub owner: Owner,
    /// Who the owner is, such as `Helm release traefik` or `HorizontalPodAutoscaler via scale`.
    pub who: String,
    /// The cause.
    pub cause: ConflictCause,
    /// The conflicting fields that the owner owns for this cause.
    pub paths: Vec<Path>,
    /// The cause as a sentence.
    pub sentence: String,
    /// What can be done, the gentlest first.
    pub remedies: Vec<Remedy>,
}

impl Diagnosis {
    /// Returns the diagnosis as a document, with its commands for a command line.
    pub fn to_value(&self, line: &CommandLine<'_>) -> Value {
        let paths = self.paths.iter().map(|path| Value::from(path.quoted().to_string()));
        Value::Object(
            Object::default()
                .with("owner", owner::to_value(&self.owner))
                .with("who", self.who.as_str())
                .with("cause", self.cause.word())
                .with("paths", Value::array(paths))
                .with("message", self.sentence.as_str())
                .with("remedies", Value::array(self.remedies.iter().map(|remedy| remedy.to_value(line)))),
        )
    }
}

/// Returns the diagnoses of conflicts: one for each cause and owner but the applier itself, in the order of the conflicts.
pub fn diagnose(
    conflicts: &[Conflict],
    manifest: &Manifest<'_>,
    live: &LiveObject,
    applier: &ApplyingManager,
) -> Vec<Diagnosis> {
    let is_applier = |owner: &&Owner| {
        owner.name.as_str() == applier.manager
            && owner.operation == Operation::Apply
            && owner.subresource.is_empty()
    };
    let context = Context { manifest, live, applier };
    let mut groups: Vec<Group<'_>> = Vec::new();
    for conflict in conflicts {
        for owner in conflict.owners.iter().filter(|owner| !is_applier(owner)) {
            let cause = context.cause(conflict, owner);
            let is_it =
                |group: &&mut Group<'_>| group.cause == cause && group.owner.identity().is(&owner.identity());
            match groups.iter_mut().find(is_it) {
                Some(group) => group.conflicts.push(conflict),
                None => groups.push(Group { cause, owner, conflicts: vec![conflict] }),
            }
        }
    }
    groups.iter().map(|group| context.diagnosis(group)).collect()
}

/// Conflicts of one cause with one owner.
struct Group<'a> {
    cause: ConflictCause,
    owner: &'a Owner,
    conflicts: Vec<&'a Conflict>,
}

/// Returns who an owner is: the application that its tool deploys, the tool, or the manager's name.
pub fn who(owner: &Owner, object: &Value) -> String {
    let tool = recognize(owner);
    let belongs = |tool: &Tool| {
        let deploys = matches!(tool.role, Role::Deployer | Role::ClientSideApply);
        applications(object).into_iter().find(|application| deploys && application.family == tool.family)
    };
    let name = match tool {
        Some(tool) => belongs(tool).map_or_else(|| tool.name.clone(), |application| application.to_string()),
        None => owner.name.to_string(),
    };
    match owner.subresource.as_str() {
        "" => name,
        subresource => format!("{name} via {subresource}"),
    }
}

/// What diagnoses are derived from.
struct Context<'a> {
    manifest: &'a Manifest<'a>,
    live: &'a LiveObject,
    applier: &'a ApplyingManager,
}

impl Context<'_> {
    fn diagnosis(&self, group: &Group<'_>) -> Diagnosis {
        let who = who(group.owner, &self.live.object);
        let paths: Vec<Path> = group.conflicts.iter().map(|conflict| conflict.path.clone()).collect();
        let sentence = self.sentence(group.cause, group.owner, &who, &fields(&paths));
        let remedies = remedy::remedies(group, &paths, self.manifest, self.applier);
        Diagnosis { owner: group.owner.clone(), who, cause: group.cause, paths, sentence, remedies }
    }

    fn cause(&self, conflict: &Conflict, owner: &Owner) -> ConflictCause {
        let tool = recognize(owner);
        let role = tool.map(|tool| tool.role);
        if self.other_application().is_some() {
            ConflictCause::OtherApplication
        } else if role == Some(Role::Autoscaler)
            || owner.subresource.as_str() == "scale" && role != Some(Role::Person)
        {
            ConflictCause::Autoscaler
        } else if role == Some(Role::ClientSideApply) {
            ConflictCause::ClientSideApply
        } else if self.is_same_tool(owner, tool) {
            ConflictCause::SameTool
        } else if role == Some(Role::Person) {
            ConflictCause::ChangedByHand
        } else if is_injected(&conflict.path) {
            ConflictCause::Injected
        } else if self.is_default(conflict) {
            ConflictCause::DefaultValue
        } else if role == Some(Role::Controller) || owner.subresource.as_str() == "status" {
            ConflictCause::Controller
        } else if role == Some(Role::Anonymous) {
            ConflictCause::AnonymousClient
        } else if owner.operation == Operation::Apply {
            ConflictCause::OtherApplier
        } else {
            ConflictCause::OtherWriter
        }
    }

    /// Returns the live object's application and the manifest's, if a tool of one family deploys both and they differ.
    fn other_application(&self) -> Option<(Application, Application)> {
        let declared = applications(&self.manifest.config);
        let live = applications(&self.live.object);
        live.into_iter().find_map(|theirs| {
            let ours = declared.iter().find(|ours| ours.family == theirs.family && **ours != theirs)?;
            Some((theirs, ours.clone()))
        })
    }

    fn is_same_tool(&self, owner: &Owner, tool: Option<&Tool>) -> bool {
        if owner.name.as_str() == self.applier.manager || self.deployed_it(owner, tool) {
            return true;
        }
        let applier = Owner {
            name: self.applier.manager.as_str().into(),
            operation: Operation::Apply,
            api_version: owner.api_version.clone(),
            subresource: "".into(),
            time: None,
        };
        let family = recognize(&applier).map(|tool| tool.family.as_str()).filter(|family| !family.is_empty());
        tool.is_some_and(|tool| tool.role == Role::Deployer && Some(tool.family.as_str()) == family)
    }

    /// Whether an owner wrote the mark of the application that the manifest belongs to: a program that uses the tool as a library has
    /// the name of its binary, such as `my-operator` for a Helm release.
    fn deployed_it(&self, owner: &Owner, tool: Option<&Tool>) -> bool {
        let manager = self.live.managers.get(&owner.identity());
        let owns = |path: &Path| manager.is_some_and(|manager| manager.fields.has(path));
        tool.is_none_or(|tool| matches!(tool.role, Role::Deployer | Role::Anonymous))
            && application::marks(&self.manifest.config).iter().any(owns)
    }

    /// Whether the manifest writes a value out that the server would set or drop by itself.
    fn is_default(&self, conflict: &Conflict) -> bool {
        let Some(proposed) = &conflict.proposed else { return false };
        let is_zero = match proposed {
            Value::Null | Value::Bool(false) | Value::Int(0) => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(object) => object.is_empty(),
            _ => false,
        };
        is_zero || default_at(&conflict.path, self.manifest.ty).is_some_and(|default| default.same(proposed))
    }

    fn sentence(&self, cause: ConflictCause, owner: &Owner, who: &str, path: &str) -> String {
        let manager = &self.applier.manager;
        match cause {
            ConflictCause::OtherApplication => match self.other_application() {
                Some((theirs, ours)) => format!("the object belongs to {theirs}; the manifest says {ours}"),
                None => format!("the object belongs to {who}"),
            },
            ConflictCause::Autoscaler => {
                format!("{who} sets {path}: a manifest with a fixed value resets what was scaled")
            }
            ConflictCause::ClientSideApply => format!(
                "{who} wrote {path} before {manager} used server-side apply, and its entry \"{}\" ({}) was left",
                owner.name,
                owner::operation(owner)
            ),
            ConflictCause::SameTool => format!(
                "the same tool wrote {path} as \"{}\" ({}); for the server that is another manager than \"{manager}\" (Apply)",
                owner.name,
                owner::operation(owner)
            ),
            ConflictCause::DefaultValue => {
                format!("the manifest writes the zero or default value of {path} out, and {who} owns it")
            }
            ConflictCause::ChangedByHand => format!("somebody changed {path} with {who}"),
            ConflictCause::Injected => format!("an admission webhook injected {path}"),
            ConflictCause::Controller => format!("{who} maintains {path}"),
            ConflictCause::AnonymousClient => {
                format!("{who} wrote {path}; \"{}\" does not tell which program that is", owner.name)
            }
            ConflictCause::OtherApplier if who == owner.name.as_str() => format!("{who} applies {path}, too"),
            ConflictCause::OtherApplier => format!("{who} applies {path}, too, as \"{}\"", owner.name),
            ConflictCause::OtherWriter => format!("{who} wrote {path}"),
        }
    }
}

/// The most fields that a sentence names.
const NAMED: usize = 3;

/// Returns fields as words of a sentence: their paths, or their number.
fn fields(paths: &[Path]) -> String {
    match paths {
        [one] => one.quoted().to_string(),
        [first @ .., last] if paths.len() <= NAMED => {
            let first: Vec<String> = first.iter().map(|path| path.quoted().to_string()).collect();
            format!("{} and {}", first.join(", "), last.quoted())
        }
        _ => format!("{} fields", paths.len()),
    }
}

fn is_injected(path: &Path) -> bool {
    path.iter().any(|element| match element {
        PathElement::Key(key) => key
            .iter()
            .any(|(_, value)| value.as_str().is_some_and(|name| INJECTED_CONTAINERS.contains(&name))),
        _ => false,
    })
}
