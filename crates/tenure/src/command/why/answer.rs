//! The answer: the value, its holders, the rules of its type, and what each kind of write would do. What happens when a
//! manager leaves the field out is not told from a table but tried, on the object as it is.

use super::rule::{self, Rules};
use crate::{
    document::Place,
    holder,
    live::LiveObject,
    plan::{
        Draft, Target, holders_of,
        live::{Applier, Force},
        offline::{self, Base},
    },
    terminal::{Ink, Terminal},
};
use std::fmt::Write;
use tenure_apply::{Owner, Operation, Timestamp, extract, release};
use tenure_fields::Path;
use tenure_schema::TypeRef;
use tenure_value::{Object, Value, json};

/// Everything about one field.
pub struct Answer {
    target: Target,
    path: Path,
    value: Option<Value>,
    holders: Vec<Owner>,
    rules: Rules,
    effects: Vec<Effect>,
}

/// What a kind of write would do.
struct Effect {
    write: String,
    does: String,
}

impl Answer {
    /// Works the answer out.
    pub fn of(live: &LiveObject, target: Target, path: Path, ty: TypeRef<'static>, now: Timestamp) -> Answer {
        let rules = rule::rules(&path, ty);
        let value = path.resolve(&live.object, ty).cloned();
        let holders = holders_of(&live.managers, &rules.whole);
        let mut answer = Answer { target, path, value, holders, rules, effects: Vec::new() };
        answer.effects = answer.effects(live, ty, now);
        answer
    }

    fn effects(&self, live: &LiveObject, ty: TypeRef<'static>, now: Timestamp) -> Vec<Effect> {
        let mut effects = Vec::new();
        let mut add = |write: String, does: String| effects.push(Effect { write, does });
        let names = |holders: &[&Owner]| {
            holders.iter().map(|holder| holder.name.to_string()).collect::<Vec<_>>().join(", ")
        };
        for applier in self.holders.iter().filter(|holder| holder.operation == Operation::Apply) {
            let others: Vec<&Owner> = self.holders.iter().filter(|other| *other != applier).collect();
            let does = match others.as_slice() {
                [] => "sets it".to_owned(),
                others => format!("conflicts with {}", names(others)),
            };
            add(format!("apply by {} with another value", applier.name), does);
            add(format!("apply by {} without it", applier.name), self.left_out(applier, live, ty, now));
        }
        let all: Vec<&Owner> = self.holders.iter().collect();
        match all.as_slice() {
            [] => add("apply by anyone".into(), "sets it and comes to hold it; nobody has to be asked".into()),
            all => {
                add(
                    "apply by someone else with another value".into(),
                    format!("conflicts with {}; with --force-path it changes hands", names(all)),
                );
                if self.value.is_some() {
                    add("apply by someone else with this value".into(), format!("shares it with {}", names(all)));
                }
            }
        }
        let taken = match all.as_slice() {
            [] => "sets it, and the writer comes to hold it".to_owned(),
            all => format!("sets it and takes it from {}, without asking", names(all)),
        };
        add("update or patch by anyone with another value".into(), taken);
        add("update or patch by anyone that removes it".into(), match all.as_slice() {
            [] => "removes it".to_owned(),
            all => format!("removes it, from the object and from what {} holds", names(all)),
        });
        effects
    }

    /// Tries what becomes of the field when a manager applies what it holds without it.
    fn left_out(&self, applier: &Owner, live: &LiveObject, ty: TypeRef<'static>, now: Timestamp) -> String {
        let whole = std::slice::from_ref(&self.rules.whole);
        let left = release(&live.managers, whole, |manager| manager.identity().is(&applier.identity()));
        let fields = left.get(&applier.identity()).map(|manager| manager.fields.clone()).unwrap_or_default();
        let draft = Draft {
            config: extract(&live.object, &fields, ty),
            place: Place::unknown(),
            target: self.target.clone(),
            resource: None,
            ty,
        };
        let applier = Applier { manager: applier.name.to_string(), force: Force::Everything, now };
        let plan = offline::plan(&draft, &Base::new(Some(live.clone())), &applier);
        let Some(after) = plan.after() else { return "is refused".into() };
        let stays = self.rules.whole.resolve(&after.object, ty).is_some();
        let holders = holders_of(&after.managers, &self.rules.whole);
        match (stays, holders.as_slice()) {
            (false, _) => "removes it; the server may put a default in its place".into(),
            (true, []) => "lets go of it; it stays, held by nobody".into(),
            (true, holders) => {
                let names: Vec<&str> = holders.iter().map(|holder| holder.name.as_str()).collect();
                format!("lets go of it; it stays, held by {}", names.join(", "))
            }
        }
    }

    /// Returns the answer for people.
    pub fn text(&self, terminal: &Terminal) -> String {
        let paint = terminal.paint;
        let value = self.value.as_ref().map_or_else(|| "(not set)".to_owned(), json::to_string);
        let mut out = format!("{}\n", paint.ink(Ink::Strong, format_args!("{}: {}", self.target, self.path)));
        // Writing to a string does not fail.
        let _ = writeln!(out, "\n  {value}\n");
        let heading = |out: &mut String, text: &str| {
            let _ = writeln!(out, "{}", paint.ink(Ink::Strong, text));
        };
        heading(&mut out, "Held by");
        if self.holders.is_empty() {
            let _ = writeln!(out, "  nobody: a default, or written before anyone's fields were tracked");
        }
        for (number, held) in self.holders.iter().enumerate() {
            let since = held.time.map(|time| format!(", since {time}")).unwrap_or_default();
            let name = paint.ink(Ink::Manager(number), &held.name);
            let age = crate::terminal::age(held.time, terminal.now);
            let _ = writeln!(out, "  {name} by {}{since} ({age})", holder::operation(held));
        }
        heading(&mut out, "\nType");
        let _ = writeln!(out, "  {}", self.rules.words);
        for sentence in &self.rules.sentences {
            let _ = writeln!(out, "  {sentence}");
        }
        heading(&mut out, "\nWhat a write would do");
        let width = self.effects.iter().map(|effect| effect.write.chars().count()).max().unwrap_or_default();
        for effect in &self.effects {
            let _ = writeln!(out, "  {:<width$}  {}", effect.write, effect.does);
        }
        out
    }

    /// Returns the answer for programs.
    pub fn value(&self) -> Value {
        let effects = self.effects.iter().map(|effect| {
            Value::object([("write", Value::from(effect.write.as_str())), ("does", Value::from(effect.does.as_str()))])
        });
        let texts = |texts: &[String]| Value::array(texts.iter().map(|text| Value::from(text.as_str())));
        let answer = Object::default()
            .with("object", self.target.to_value())
            .with("path", self.path.quoted().to_string())
            .with("heldAs", self.rules.whole.quoted().to_string())
            .with("holders", holder::list(&self.holders))
            .with("type", self.rules.words.as_str())
            .with("rules", texts(&self.rules.sentences))
            .with("writes", Value::array(effects));
        Value::Object(match &self.value {
            Some(value) => answer.with("value", value.clone()),
            None => answer,
        })
    }
}
