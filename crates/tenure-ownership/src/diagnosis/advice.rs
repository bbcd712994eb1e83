//! What to know about the owner of a field before anyone writes it: for a field that is explained rather than applied, so that there is
//! no manifest and no conflict yet.

use super::{CommandLine, Role, recognize, remedy::on_object, who};
use crate::{Target, owner::Owner};
use tenure_value::{Object, Value};

/// Advice about one owner of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The advice as a sentence.
    pub sentence: String,
    /// The arguments of the command that does it.
    arguments: Option<String>,
}

impl Advice {
    /// Returns the advice about an owner of a field of an object, if its manager is known.
    pub(crate) fn about(owner: &Owner, target: &Target, object: &Value) -> Option<Advice> {
        let role = recognize(owner).map(|tool| tool.role);
        let scales = role == Some(Role::Autoscaler)
            || owner.subresource.as_str() == "scale" && role != Some(Role::Person);
        let role = if scales { Some(Role::Autoscaler) } else { role };
        let who = who(owner, object);
        let name = &owner.name;
        let (sentence, arguments) = match role {
            Some(Role::Autoscaler) => (
                format!("{who} scales it: leave it out of manifests, or every apply resets what was scaled"),
                None,
            ),
            Some(Role::ClientSideApply)
                if crate::client_side::CLIENT_SIDE_MANAGERS.contains(&name.as_str()) =>
            {
                (
                    format!(
                        "{who} left the entry \"{name}\" behind; it conflicts with server-side apply and keeps what leaves the manifest, until it is migrated"
                    ),
                    Some(on_object("migrate", target, "").trim_end().to_owned()),
                )
            }
            Some(Role::ClientSideApply) => (
                format!(
                    "{who} wrote it before server-side apply; for the server that is another manager than \"{name}\" (Apply)"
                ),
                Some(on_object("adopt", target, &format!("--from {name} --to {name}"))),
            ),
            Some(Role::Person) => (
                format!(
                    "somebody changed it with {who}: the next apply of it conflicts, or takes it back by force"
                ),
                None,
            ),
            Some(Role::Controller) => (format!("{who} maintains it: leave it out of manifests"), None),
            Some(Role::Anonymous) => {
                (format!("{who} wrote it; \"{name}\" does not tell which program that is"), None)
            }
            Some(Role::Deployer) | None => return None,
        };
        Some(Advice { sentence, arguments })
    }

    /// Returns the command that does it.
    pub fn command(&self, line: &CommandLine<'_>) -> Option<String> {
        self.arguments.as_ref().map(|arguments| format!("{} {arguments}{}", line.program, line.server))
    }

    /// Returns the advice as a document.
    pub fn to_value(&self, line: &CommandLine<'_>) -> Value {
        let object = Object::default().with("message", self.sentence.as_str());
        Value::Object(match self.command(line) {
            Some(command) => object.with("command", command),
            None => object,
        })
    }
}
