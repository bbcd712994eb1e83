//! What can be done about a conflict: each remedy with its effect, and the command to paste where one command does it.

use super::{ConflictCause, Group, fields};
use crate::{ApplyingManager, Manifest, Target, owner::Owner};
use tenure_fields::Path;
use tenure_value::{Object, Value};

/// The kinds of remedies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RemedyKind {
    /// Remove the field from the manifest.
    LeaveOut,
    /// Write the live value into the manifest and own the field together.
    Share,
    /// Move the field to the applier without changing its value.
    Transfer,
    /// Move all fields of the owner to the applier without changing values.
    Adopt,
    /// Move the object from client-side to server-side apply.
    Migrate,
    /// Apply, and take the field from its owners.
    Take,
}

impl RemedyKind {
    /// Returns the name of the remedy for programs.
    pub fn word(self) -> &'static str {
        match self {
            RemedyKind::LeaveOut => "LeaveOut",
            RemedyKind::Share => "Share",
            RemedyKind::Transfer => "Transfer",
            RemedyKind::Adopt => "Adopt",
            RemedyKind::Migrate => "Migrate",
            RemedyKind::Take => "Take",
        }
    }
}

/// Something that settles conflicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// What it is.
    pub kind: RemedyKind,
    /// What it does, and what it costs.
    pub effect: String,
    /// The arguments of the command that does it; `None` if the manifest has to be edited.
    arguments: Option<String>,
}

impl Remedy {
    /// Returns the command that does it; `None` if the manifest has to be edited.
    pub fn command(&self, line: &CommandLine<'_>) -> Option<String> {
        let CommandLine { program, files, server } = line;
        let arguments = self.arguments.as_ref()?;
        Some(match self.kind {
            RemedyKind::Take => format!("{program} apply {files} {arguments}{server}"),
            _ => format!("{program} {arguments}{server}"),
        })
    }

    /// Returns the remedy as a document.
    pub fn to_value(&self, line: &CommandLine<'_>) -> Value {
        let object = Object::default().with("kind", self.kind.word()).with("effect", self.effect.as_str());
        Value::Object(match self.command(line) {
            Some(command) => object.with("command", command),
            None => object,
        })
    }
}

/// How commands are written for the person who reads them.
#[derive(Clone, Copy, Debug)]
pub struct CommandLine<'a> {
    /// The program: `tenure`, or `kubectl tenure`.
    pub program: &'a str,
    /// The flags that select the files of an apply, such as `-f manifests/`.
    pub files: &'a str,
    /// The flags that choose the server, each with a space before it.
    pub server: &'a str,
}

impl Default for CommandLine<'_> {
    fn default() -> Self {
        CommandLine { program: "tenure", files: "-f FILE", server: "" }
    }
}

/// Returns a word as a shell reads it: in quotes if it has characters with a meaning.
pub fn shell_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-/:@=,+%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The most fields that a command names; where there are more, conflicts are settled one by one.
const PASTED: usize = 12;

/// Returns the remedies of conflicts of one cause, the gentlest first.
pub(super) fn remedies(
    group: &Group<'_>,
    paths: &[Path],
    manifest: &Manifest<'_>,
    applier: &ApplyingManager,
) -> Vec<Remedy> {
    use RemedyKind::{Adopt, LeaveOut, Migrate, Share, Take, Transfer};
    let kinds: &[RemedyKind] = match group.cause {
        ConflictCause::OtherApplication => &[LeaveOut, Take],
        ConflictCause::Autoscaler | ConflictCause::Injected | ConflictCause::Controller => &[LeaveOut, Take],
        ConflictCause::DefaultValue => &[LeaveOut, Share, Take],
        ConflictCause::ClientSideApply if is_client_side_apply(group.owner) => &[Migrate, Transfer, LeaveOut],
        ConflictCause::ClientSideApply | ConflictCause::SameTool => &[Adopt, Transfer, LeaveOut],
        ConflictCause::ChangedByHand | ConflictCause::AnonymousClient => &[Take, Transfer, LeaveOut, Share],
        ConflictCause::OtherApplier | ConflictCause::OtherWriter => &[LeaveOut, Share, Transfer, Take],
    };
    let writer = Writer { owner: group.owner, paths, manifest, applier };
    let is_set = group.conflicts.iter().all(|conflict| conflict.live.is_some());
    let is_possible = |kind: &&RemedyKind| match kind {
        Share => is_set,
        Transfer => paths.len() <= PASTED,
        _ => true,
    };
    kinds.iter().filter(is_possible).map(|kind| writer.remedy(*kind)).collect()
}

/// Whether an owner is of those that `migrate` moves by itself.
fn is_client_side_apply(owner: &Owner) -> bool {
    crate::client_side::CLIENT_SIDE_MANAGERS.contains(&owner.name.as_str())
}

struct Writer<'a> {
    owner: &'a Owner,
    paths: &'a [Path],
    manifest: &'a Manifest<'a>,
    applier: &'a ApplyingManager,
}

impl Writer<'_> {
    fn remedy(&self, kind: RemedyKind) -> Remedy {
        let path = fields(self.paths);
        let (owner, applier) = (self.owner.name.as_str(), self.applier.manager.as_str());
        let (from, to) = (shell_word(owner), shell_word(applier));
        let flags = |flag: &str| {
            let flag = |path: &Path| format!("{flag} {}", shell_word(&path.quoted().to_string()));
            self.paths.iter().map(flag).collect::<Vec<_>>().join(" ")
        };
        let (effect, arguments) = match kind {
            RemedyKind::LeaveOut => (
                format!("remove {path} from the manifest; the value stays, and {applier} does not own it"),
                None,
            ),
            RemedyKind::Share => (
                format!(
                    "write the live value of {path} into the manifest; {owner} and {applier} own it together"
                ),
                None,
            ),
            RemedyKind::Transfer => (
                format!("move {path} from {owner} to {applier}; no value changes"),
                Some(self.on_object("transfer", &format!("{} --from {from} --to {to}", flags("--path")))),
            ),
            RemedyKind::Adopt => (
                format!("move everything that {owner} owns to {applier}; no value changes"),
                Some(self.on_object("adopt", &format!("--from {from} --to {to}"))),
            ),
            RemedyKind::Migrate => (
                format!(
                    "move what was applied on the client to {applier}; no value changes, and removals work again"
                ),
                Some(self.on_object("migrate", &format!("--to {to}"))),
            ),
            RemedyKind::Take if self.paths.len() > PASTED => (
                format!("decide field by field which of {path} to take from {owner}"),
                Some(format!("--manager {to} --interactive")),
            ),
            RemedyKind::Take => (
                format!("set {path} and take it from {owner}, which will set it again if it still runs"),
                Some(format!("--manager {to} {}", flags("--force-path"))),
            ),
        };
        Remedy { kind, effect, arguments }
    }

    /// Returns a command on the object of the manifest.
    fn on_object(&self, verb: &str, flags: &str) -> String {
        on_object(verb, &self.manifest.target, flags)
    }
}

/// Returns the arguments of a command on an object.
pub(super) fn on_object(verb: &str, target: &Target, flags: &str) -> String {
    let namespace = match target.namespace.as_str() {
        "" => String::new(),
        namespace => format!(" -n {}", shell_word(namespace)),
    };
    let object = shell_word(&format!("{}/{}", target.word, target.name));
    format!("{verb} {object}{namespace} {flags}")
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(shell_word(".spec.replicas"), ".spec.replicas");
        assert_eq!(shell_word(r#".spec.containers[name="web"]"#), r#"'.spec.containers[name="web"]'"#);
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
