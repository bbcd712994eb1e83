//! The explanation of one field: its value, its owners, the rules of its type, and the effect of each kind of write. The
//! effect of leaving the field out of an apply is not looked up in a table but computed, on the object as it is.

mod rule;

use crate::{
    ApplyingManager, ForcedFields, LiveObject, Manifest, OwnershipError, Target,
    diagnosis::{self, Advice, CommandLine},
    owner::{self, Owner, owners_of},
    plan,
};
use rule::Rules;
use tenure_apply::{Operation, Timestamp, extract, release};
use tenure_fields::Path;
use tenure_profile::Profile;
use tenure_schema::TypeRef;
use tenure_value::{Object, Value};

/// Everything about one field.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The object.
    pub target: Target,
    /// The field.
    pub path: Path,
    /// Its value; `None` if it is not set.
    pub value: Option<Value>,
    /// Its owners.
    pub owners: Vec<Owner>,
    /// Who the owners are, in their order: the tool or application behind each manager's name.
    pub who: Vec<String>,
    /// What to know about the owners before writing the field.
    pub advice: Vec<Advice>,
    /// What different kinds of writes would do.
    pub effects: Vec<Effect>,
    rules: Rules,
}

/// The effect of one kind of write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The write.
    pub write: String,
    /// What it would do.
    pub result: String,
}

impl Explanation {
    /// Explains the field at a path, in any notation. What writes would do is that of a server with a profile.
    pub fn of(
        live: &LiveObject,
        target: Target,
        path: &str,
        ty: TypeRef<'_>,
        profile: Profile,
        now: Timestamp,
    ) -> Result<Explanation, OwnershipError> {
        let path = live.field(path, ty)?;
        let rules = rule::rules(&path, ty);
        let value = path.resolve(&live.object, ty).cloned();
        let owners = owners_of(&live.managers, &rules.unit);
        let who = owners.iter().map(|owner| diagnosis::who(owner, &live.object)).collect();
        let advice = owners.iter().filter_map(|owner| Advice::about(owner, &target, &live.object)).collect();
        let mut explanation =
            Explanation { target, path, value, owners, who, advice, rules, effects: Vec::new() };
        explanation.effects = explanation.effects(live, ty, profile, now);
        Ok(explanation)
    }

    /// Returns the type of the field in a few words.
    pub fn type_name(&self) -> &str {
        &self.rules.type_name
    }

    /// Returns how the field and its parents merge, in sentences.
    pub fn rules(&self) -> &[String] {
        &self.rules.sentences
    }

    /// Returns the path that is owned as a unit: the field itself, or an atomic parent.
    pub fn unit(&self) -> &Path {
        &self.rules.unit
    }

    fn effects(&self, live: &LiveObject, ty: TypeRef<'_>, profile: Profile, now: Timestamp) -> Vec<Effect> {
        let mut effects = Vec::new();
        let mut add = |write: String, result: String| effects.push(Effect { write, result });
        let appliers = self.owners.iter().filter(|owner| owner.operation == Operation::Apply);
        for applier in appliers {
            let others: Vec<&Owner> = self.owners.iter().filter(|other| *other != applier).collect();
            let result = match others.as_slice() {
                [] => "sets it".to_owned(),
                others => format!("conflicts with {}", names(others)),
            };
            add(format!("apply by {} with another value", applier.name), result);
            add(
                format!("apply by {} without it", applier.name),
                self.left_out(applier, live, ty, profile, now),
            );
        }
        let all: Vec<&Owner> = self.owners.iter().collect();
        let change = "update or patch by any manager with another value";
        let removal = "update or patch by any manager that removes it";
        if all.is_empty() {
            add("apply by any manager".into(), "sets and owns it, without a conflict".into());
            add(change.into(), "sets and owns it".into());
            add(removal.into(), "removes it".into());
            return effects;
        }
        let owners = names(&all);
        add(
            "apply by another manager with another value".into(),
            format!("conflicts with {owners}; --force-path takes ownership"),
        );
        if self.value.is_some() {
            add("apply by another manager with this value".into(), format!("shares ownership with {owners}"));
        }
        add(change.into(), format!("sets it and takes ownership from {owners}, without a conflict"));
        add(removal.into(), format!("removes it from the object and from the fields of {owners}"));
        effects
    }

    /// Computes what happens to the field when an owner applies its fields without it.
    fn left_out(
        &self,
        applier: &Owner,
        live: &LiveObject,
        ty: TypeRef<'_>,
        profile: Profile,
        now: Timestamp,
    ) -> String {
        let unit = std::slice::from_ref(&self.rules.unit);
        let left = release(&live.managers, unit, |manager| manager.identity().is(&applier.identity()));
        let fields = left.get(&applier.identity()).map(|manager| manager.fields.clone()).unwrap_or_default();
        let manifest = Manifest {
            config: extract(&live.object, &fields, ty),
            source: String::new(),
            target: self.target.clone(),
            ty,
        };
        let applier = ApplyingManager { manager: applier.name.to_string(), force: ForcedFields::All, now };
        let plan = plan::offline(&manifest, Some(live), &applier, profile);
        let Some(after) = plan.after() else { return "is refused".into() };
        let stays = self.rules.unit.resolve(&after.object, ty).is_some();
        let owners = owners_of(&after.managers, &self.rules.unit);
        match (stays, owners.as_slice()) {
            (false, _) => "removes it; the server may set a default".into(),
            (true, []) => "gives up ownership; the value stays, without an owner".into(),
            (true, owners) => {
                let owners: Vec<&Owner> = owners.iter().collect();
                format!("gives up ownership; the value stays, owned by {}", names(&owners))
            }
        }
    }

    /// Returns the explanation as a document.
    pub fn to_value(&self) -> Value {
        self.to_value_for(&CommandLine::default())
    }

    /// Returns the explanation as a document, with commands for a command line.
    pub fn to_value_for(&self, line: &CommandLine<'_>) -> Value {
        let effects = self.effects.iter().map(|effect| {
            Value::object([
                ("write", Value::from(effect.write.as_str())),
                ("result", Value::from(effect.result.as_str())),
            ])
        });
        let owners = self.owners.iter().zip(&self.who).map(|(owner, who)| {
            let owner = owner::to_value(owner).as_object().cloned().unwrap_or_default();
            Value::Object(owner.with("who", who.as_str()))
        });
        let texts = |texts: &[String]| Value::array(texts.iter().map(|text| Value::from(text.as_str())));
        let explanation = Object::default()
            .with("object", self.target.to_value())
            .with("path", self.path.quoted().to_string())
            .with("ownedAs", self.unit().quoted().to_string())
            .with("owners", Value::array(owners))
            .with("advice", Value::array(self.advice.iter().map(|advice| advice.to_value(line))))
            .with("type", self.type_name())
            .with("rules", texts(self.rules()))
            .with("writes", Value::array(effects));
        Value::Object(match &self.value {
            Some(value) => explanation.with("value", value.clone()),
            None => explanation,
        })
    }
}

fn names(owners: &[&Owner]) -> String {
    owners.iter().map(|owner| owner.name.as_str()).collect::<Vec<_>>().join(", ")
}
