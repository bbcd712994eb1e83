//! Why a conflict exists, in the words of the trade, and what to do about it. A [`Diagnosis`] is about one owner of one conflicting
//! field: who the owner is, the cause, and the remedies, the gentlest first. It is derived from the object, its managers, the manifest
//! and the table of known managers; nothing is guessed from the clock or from other objects.

mod application;
mod remedy;
mod tool;

pub use application::{Application, applications, controller};
pub use remedy::{CommandLine, Remedy, RemedyKind};
pub use tool::{KNOWN_MANAGERS, Role, Tool, recognize};

use crate::{
    Applier, Conflict, LiveObject, Manifest,
    owner::{self, Owner},
    plan::default_at,
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

/// The cause of a conflict with one owner, and its remedies.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// The owner.
    pub owner: Owner,
    /// Who the owner is, such as `Helm release traefik` or `HorizontalPodAutoscaler via scale`.
    pub who: String,
    /// The cause.
    pub cause: ConflictCause,
    /// The cause as a sentence.
    pub sentence: String,
    /// What can be done, the gentlest first.
    pub remedies: Vec<Remedy>,
}

impl Diagnosis {
    /// Returns the diagnosis as a document.
    pub fn to_value(&self) -> Value {
        Value::Object(
            Object::default()
                .with("owner", owner::to_value(&self.owner))
                .with("who", self.who.as_str())
                .with("cause", self.cause.word())
                .with("message", self.sentence.as_str())
                .with("remedies", Value::array(self.remedies.iter().map(Remedy::to_value))),
        )
    }
}

/// Returns the diagnoses of a conflict: one for each of its owners but the applier itself.
pub fn diagnose(
    conflict: &Conflict,
    manifest: &Manifest<'_>,
    live: &LiveObject,
    applier: &Applier,
    line: &CommandLine<'_>,
) -> Vec<Diagnosis> {
    let is_applier = |owner: &&Owner| {
        owner.name.as_str() == applier.manager
            && owner.operation == Operation::Apply
            && owner.subresource.is_empty()
    };
    let context = Context { conflict, manifest, live, applier };
    let others = conflict.owners.iter().filter(|owner| !is_applier(owner));
    others.map(|owner| context.diagnose(owner, line)).collect()
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

/// What a diagnosis is derived from.
struct Context<'a> {
    conflict: &'a Conflict,
    manifest: &'a Manifest<'a>,
    live: &'a LiveObject,
    applier: &'a Applier,
}

impl Context<'_> {
    fn diagnose(&self, owner: &Owner, line: &CommandLine<'_>) -> Diagnosis {
        let cause = self.cause(owner);
        let who = who(owner, &self.live.object);
        let sentence = self.sentence(cause, owner, &who);
        let remedies = remedy::remedies(cause, self.conflict, owner, self.manifest, self.applier, line);
        Diagnosis { owner: owner.clone(), who, cause, sentence, remedies }
    }

    fn cause(&self, owner: &Owner) -> ConflictCause {
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
        } else if is_injected(&self.conflict.path) {
            ConflictCause::Injected
        } else if self.is_default() {
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
        if owner.name.as_str() == self.applier.manager {
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

    /// Whether the manifest writes a value out that the server would set or drop by itself.
    fn is_default(&self) -> bool {
        let Some(proposed) = &self.conflict.proposed else { return false };
        let is_zero = match proposed {
            Value::Null | Value::Bool(false) | Value::Int(0) => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(object) => object.is_empty(),
            _ => false,
        };
        is_zero
            || default_at(&self.conflict.path, self.manifest.ty).is_some_and(|default| default.same(proposed))
    }

    fn sentence(&self, cause: ConflictCause, owner: &Owner, who: &str) -> String {
        let (path, manager) = (&self.conflict.path, &self.applier.manager);
        match cause {
            ConflictCause::OtherApplication => match self.other_application() {
                Some((theirs, ours)) => format!("the object belongs to {theirs}; the manifest says {ours}"),
                None => format!("the object belongs to {who}"),
            },
            ConflictCause::Autoscaler => {
                format!("{who} sets {path}: a manifest that contains it resets what was scaled")
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
                format!(
                    "the manifest writes the zero or default value of {path} out, and {who} set another one"
                )
            }
            ConflictCause::ChangedByHand => format!("somebody changed {path} with {who}"),
            ConflictCause::Injected => format!("an admission webhook injected the container that has {path}"),
            ConflictCause::Controller => format!("{who} maintains {path}"),
            ConflictCause::AnonymousClient => {
                format!("{who} wrote {path}; \"{}\" does not tell which program that is", owner.name)
            }
            ConflictCause::OtherApplier => format!("{who} applies {path} too"),
            ConflictCause::OtherWriter => format!("{who} wrote {path}"),
        }
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
