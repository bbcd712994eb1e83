//! Defaulting rules, compiled from rows of data: a target, conditions, and the value. A rule is compiled once
//! per type, so running it only accesses a few fields.

use super::{
    condition::{Condition, Place, Target, follow},
    function::{self, Function},
};
use crate::data::only_known;
use tenure_meta::{
    CreateContext, Edit, NameFilter, ValueExt,
    codec::{FieldShape, Shapes, StructShape, is_absent, is_zero},
    map_items,
};
use tenure_value::{Object, Text, Value};

/// The members of a row.
const MEMBERS: [&str; 21] = [
    "alsoReplaces",
    "append",
    "copy",
    "create",
    "ensureKeys",
    "firstOf",
    "fn",
    "force",
    "itemField",
    "mergeBase64",
    "mergeKeys",
    "onlyMissing",
    "path",
    "phase",
    "plugin",
    "remove",
    "type",
    "unless",
    "value",
    "when",
    "wrapList",
];

/// A compiled rule.
#[derive(Debug)]
pub(crate) struct Rule {
    /// The fields of the node that decide what the rule does. Where they are as in an object that it was applied to, it has nothing
    /// to do.
    pub(super) reads: NameFilter,
    /// The admission plugin that the rule belongs to.
    plugin: Option<Text>,
    /// The path of the parent of the target.
    parents: Box<[Step]>,
    target: Text,
    /// Whether an explicit zero at the target counts as a value.
    keeps_zero: bool,
    /// Whether missing parents are created.
    creates: bool,
    /// Whether the target is overwritten.
    force: bool,
    also_replaces: Box<[Value]>,
    /// Conditions on the node.
    when: Box<[Condition]>,
    /// Conditions on the parent of the target.
    when_beside: Box<[Condition]>,
    action: Action,
}

#[derive(Debug, PartialEq)]
enum Step {
    Field(Text),
    Each,
}

/// A literal, possibly with placeholders for values of the request.
#[derive(Debug)]
enum Literal {
    Fixed(Value),
    Filled(Value),
}

/// The source of a value.
#[derive(Debug)]
enum Source {
    /// A field below the node.
    Node(Place),
    /// A sibling of the target.
    Beside(Place),
}

#[derive(Debug)]
enum Action {
    Put(Literal),
    Copy(Source),
    MergeKeys(Source),
    MergeBase64(Source),
    Remove,
    Call(Function),
    EnsureKeys {
        keys: Literal,
        only_missing: bool,
    },
    Append {
        item: Value,
        unless: Unless,
    },
    /// A list with the value of a sibling; with `only_absent`, an existing value is left to validation.
    WrapList {
        beside: Text,
        item_field: Option<Text>,
        only_absent: bool,
    },
    FirstOf {
        beside: Text,
        item_field: Option<Text>,
    },
}

/// When an item counts as present.
#[derive(Debug)]
enum Unless {
    Present,
    SameKeyAndEffect,
    ToleratesKey,
}

impl Rule {
    /// Creates the rule for a default of the schema.
    pub(crate) fn of_schema(field: &FieldShape) -> Option<Rule> {
        let value = field.default.clone()?;
        Some(Rule {
            reads: NameFilter::of(&field.name),
            plugin: None,
            parents: Box::default(),
            target: field.name.clone(),
            keeps_zero: field.keeps_zero,
            creates: false,
            force: false,
            also_replaces: Box::default(),
            when: Box::default(),
            when_beside: Box::default(),
            action: Action::Put(Literal::Fixed(value)),
        })
    }

    /// Compiles a row of data for a type.
    pub(crate) fn compile(shapes: &Shapes, node: &StructShape, row: &Value) -> Result<Rule, String> {
        only_known(row, &MEMBERS)?;
        let path = row.text("path");
        let (parent, target) = path.rsplit_once('.').unwrap_or(("", &path));
        let target = target.trim_end_matches("[]");
        let mut parents = Vec::new();
        let node = &Target::Struct(node);
        let mut beside = Target::Struct(node.of_struct().ok_or("the type has no fields")?);
        for segment in parent.split('.').filter(|segment| !segment.is_empty()) {
            let (name, each) = segment.strip_suffix("[]").map_or((segment, false), |name| (name, true));
            parents.push(Step::Field(name.into()));
            beside = follow(shapes, &beside, name)?;
            if each {
                parents.push(Step::Each);
            }
        }
        let (mut when, mut when_beside) = (Vec::new(), Vec::new());
        for condition in row.items("when") {
            let path = condition.as_array().and_then(|words| words.items().get(1)).and_then(Value::as_str);
            match path.is_some_and(|path| path.starts_with("./")) {
                true => when_beside.push(Condition::compile(shapes, &beside, condition)?),
                false => when.push(Condition::compile(shapes, node, condition)?),
            }
        }
        let mut rule = Rule {
            reads: NameFilter::ALL,
            plugin: row.get("plugin").and_then(Value::as_str).map(Text::new),
            parents: parents.into(),
            target: target.into(),
            keeps_zero: Place::compile(shapes, &beside, target)?.keeps_zero,
            creates: row.flag("create"),
            force: row.flag("force"),
            also_replaces: row.items("alsoReplaces").into(),
            when: when.into(),
            when_beside: when_beside.into(),
            action: action_of(shapes, node, &beside, row)?,
        };
        rule.reads = rule.fields_read();
        Ok(rule)
    }

    /// Returns the fields of the node that a rule reads and writes. Only of those that set an absent field is it known that they
    /// have nothing more to do once they were applied.
    fn fields_read(&self) -> NameFilter {
        let source = match &self.action {
            Action::Put(Literal::Fixed(_)) => NameFilter::NONE,
            Action::Copy(Source::Node(place)) => place.reads(),
            // What is beside the target is below its parents, if it has any.
            Action::Copy(Source::Beside(place)) if self.parents.is_empty() => place.reads(),
            Action::Copy(Source::Beside(_)) => NameFilter::NONE,
            _ => return NameFilter::ALL,
        };
        if self.force || self.plugin.is_some() {
            return NameFilter::ALL;
        }
        let (own, beside) = match self.parents.first() {
            Some(Step::Field(name)) => (NameFilter::of(name), &[][..]),
            Some(Step::Each) => return NameFilter::ALL,
            None => (NameFilter::of(&self.target), &self.when_beside[..]),
        };
        self.when.iter().chain(beside).map(Condition::reads).fold(own.or(source), NameFilter::or)
    }

    /// Whether the rule overwrites existing values.
    pub(crate) fn is_forced(&self) -> bool {
        self.force
    }

    /// Runs the rule at a node.
    pub(crate) fn run(&self, node: &mut Edit<'_>, around: &mut dyn CreateContext) {
        let is_disabled = self.plugin.as_ref().is_some_and(|plugin| !around.runs_plugin(plugin));
        if is_disabled || !self.when.iter().all(|condition| condition.holds(node)) {
            return;
        }
        let taken = match &self.action {
            Action::Copy(Source::Node(place))
            | Action::MergeKeys(Source::Node(place))
            | Action::MergeBase64(Source::Node(place)) => match place.present(node) {
                Some(value) => Some(value.clone()),
                None => return,
            },
            Action::Call(function) => match function.call(node, around) {
                Some(value) => Some(value),
                None => return,
            },
            _ => None,
        };
        let mut run = Run { rule: self, taken, name: self.name_of(node), around };
        run.descend(node, &self.parents);
    }
}

impl Rule {
    /// Returns the name of the object if the rule uses it.
    fn name_of(&self, node: &Edit<'_>) -> Value {
        match &self.action {
            Action::Put(Literal::Filled(_)) | Action::EnsureKeys { keys: Literal::Filled(_), .. } => {
                node.get("metadata").and_then(|metadata| metadata.get("name")).cloned().unwrap_or_default()
            }
            _ => Value::Null,
        }
    }
}

/// One run of a rule.
struct Run<'r> {
    rule: &'r Rule,
    /// The values read from the node before descending.
    taken: Option<Value>,
    name: Value,
    around: &'r mut dyn CreateContext,
}

impl Run<'_> {
    fn descend(&mut self, parent: &mut Edit<'_>, steps: &[Step]) {
        let [Step::Field(name), rest @ ..] = steps else {
            return self.apply(parent);
        };
        let missing = Value::from(Object::default());
        let child = match parent.get(name) {
            Some(Value::Null) | None if self.rule.creates => &missing,
            Some(child) => child,
            None => return,
        };
        let changed = match (child, rest) {
            (Value::Array(items), [Step::Each, rest @ ..]) => {
                map_items(items.items(), |_, item| self.below(item, rest))
            }
            (child, rest) => self.below(child, rest),
        };
        if let Some(changed) = changed {
            parent.set(name, changed);
        }
    }

    fn below(&mut self, child: &Value, steps: &[Step]) -> Option<Value> {
        let mut edit = Edit::new(child.as_object()?);
        self.descend(&mut edit, steps);
        edit.finish().map(Value::from)
    }

    /// Changes the parent of the target.
    fn apply(&mut self, parent: &mut Edit<'_>) {
        let rule = self.rule;
        if !rule.when_beside.iter().all(|condition| condition.holds(parent)) {
            return;
        }
        let target = parent.get(&rule.target);
        let absent = is_absent(target, rule.keeps_zero)
            || target.is_some_and(|value| rule.also_replaces.contains(value));
        let open = absent || rule.force;
        let beside = |place: &Place| place.present(parent).cloned();
        match &rule.action {
            Action::Remove => parent.remove(&rule.target),
            Action::Put(literal) if open => {
                if let Some(value) = self.fill(literal) {
                    set_if_different(parent, &rule.target, value);
                }
            }
            Action::Copy(source) if open => {
                let value = match source {
                    Source::Node(_) => self.taken.clone(),
                    Source::Beside(place) => beside(place),
                };
                if let Some(value) = value {
                    set_if_different(parent, &rule.target, value);
                }
            }
            Action::Call(function) if open || function.completes() => {
                if let Some(value) = &self.taken {
                    let value = function::merged(target, value, *function);
                    set_if_different(parent, &rule.target, value);
                }
            }
            Action::MergeKeys(source) => {
                let from = match source {
                    Source::Node(_) => self.taken.clone(),
                    Source::Beside(place) => beside(place),
                };
                if let Some(merged) = function::with_missing_keys(target, from.as_ref()) {
                    parent.set(&rule.target, merged);
                }
            }
            Action::MergeBase64(_) => {
                if let Some(merged) = function::with_encoded(target, self.taken.as_ref()) {
                    parent.set(&rule.target, merged);
                }
            }
            Action::EnsureKeys { keys, only_missing } => {
                let keys = self.fill(keys);
                let merged = match only_missing {
                    true => function::with_missing_keys(target, keys.as_ref()),
                    false => function::with_keys(target, keys.as_ref()),
                };
                if let Some(merged) = merged {
                    parent.set(&rule.target, merged);
                }
            }
            Action::Append { item, unless } => {
                let items = target.and_then(Value::as_array).map(|items| items.items()).unwrap_or_default();
                if !items.iter().any(|other| unless.holds(other, item)) {
                    let appended = Value::array(items.iter().chain([item]).cloned());
                    parent.set(&rule.target, appended);
                }
            }
            Action::WrapList { only_absent: true, .. } if !absent => {}
            Action::WrapList { beside, item_field, .. } => {
                let Some(scalar) = parent.get(beside).filter(|value| !is_zero(value)).cloned() else {
                    return;
                };
                let first = target.and_then(Value::as_array).and_then(|items| items.first());
                let is_first = match item_field {
                    Some(field) => first.and_then(|item| item.get(field)) == Some(&scalar),
                    None => first == Some(&scalar),
                };
                if !is_first {
                    let item = match item_field {
                        Some(field) => Value::object([(field.clone(), scalar)]),
                        None => scalar,
                    };
                    parent.set(&rule.target, Value::array([item]));
                }
            }
            Action::FirstOf { beside, item_field } if open => {
                let first = parent.get(beside).and_then(Value::as_array).and_then(|items| items.first());
                let value = match item_field {
                    Some(field) => first.and_then(|item| item.get(field)),
                    None => first,
                };
                if let Some(value) = value.cloned() {
                    parent.set(&rule.target, value);
                }
            }
            Action::Put(_) | Action::Copy(_) | Action::Call(_) | Action::FirstOf { .. } => {}
        }
    }

    /// Replaces placeholders with values of the request.
    fn fill(&mut self, literal: &Literal) -> Option<Value> {
        match literal {
            Literal::Fixed(value) => Some(value.clone()),
            Literal::Filled(value) => function::fill(value, &self.name, self.around),
        }
    }
}

fn set_if_different(parent: &mut Edit<'_>, name: &Text, value: Value) {
    if parent.get(name) != Some(&value) {
        parent.set(name, value);
    }
}

impl Unless {
    fn holds(&self, present: &Value, item: &Value) -> bool {
        let same = |name: &str| present.get(name) == item.get(name);
        match self {
            Unless::Present => present == item,
            Unless::SameKeyAndEffect => same("key") && same("effect"),
            Unless::ToleratesKey => {
                let effect = present.get("effect").and_then(Value::as_str).unwrap_or_default();
                let key = present.get("key").and_then(Value::as_str).unwrap_or_default();
                (same("key") || key.is_empty()) && (effect.is_empty() || same("effect"))
            }
        }
    }
}

fn action_of(shapes: &Shapes, node: &Target<'_>, beside: &Target<'_>, row: &Value) -> Result<Action, String> {
    let text = |name: &str| row.get(name).and_then(Value::as_str);
    let source = |path: &str| -> Result<Source, String> {
        Ok(match path.starts_with("./") {
            true => Source::Beside(Place::compile(shapes, beside, path)?),
            false => Source::Node(Place::compile(shapes, node, path)?),
        })
    };
    let item_field = || text("itemField").map(Text::new);
    Ok(if let Some(value) = row.get("value") {
        Action::Put(literal(value))
    } else if let Some(path) = text("copy") {
        Action::Copy(source(path)?)
    } else if let Some(path) = text("mergeKeys") {
        Action::MergeKeys(source(path)?)
    } else if let Some(path) = text("mergeBase64") {
        Action::MergeBase64(source(path)?)
    } else if row.flag("remove") {
        Action::Remove
    } else if let Some(name) = text("fn") {
        Action::Call(Function::named(name).ok_or_else(|| format!("there is no function {name:?}"))?)
    } else if let Some(keys) = row.get("ensureKeys") {
        Action::EnsureKeys { keys: literal(keys), only_missing: row.flag("onlyMissing") }
    } else if let Some(item) = row.get("append") {
        let unless = match text("unless").unwrap_or_default() {
            "present" => Unless::Present,
            "sameKeyAndEffect" => Unless::SameKeyAndEffect,
            "toleratesKey" => Unless::ToleratesKey,
            other => {
                return Err(format!(
                    "unknown unless {other:?}; known are present, sameKeyAndEffect, toleratesKey"
                ));
            }
        };
        Action::Append { item: item.clone(), unless }
    } else if let Some(list) = text("wrapList") {
        let only_absent = row.text("phase") == "create";
        Action::WrapList { beside: list.into(), item_field: item_field(), only_absent }
    } else if let Some(list) = text("firstOf") {
        Action::FirstOf { beside: list.into(), item_field: item_field() }
    } else {
        return Err("the row does not say what to do".into());
    })
}

fn literal(value: &Value) -> Literal {
    match function::has_words(value) {
        true => Literal::Filled(value.clone()),
        false => Literal::Fixed(value.clone()),
    }
}
