//! Permissions per field: an annotation of a role limits what its write permissions may change.
//!
//! The rules are in an annotation, not in the role's `rules`, so that clients that do not know them keep them. A role
//! whose annotation cannot be read grants no write at all.

use super::{
    PolicyRule,
    rule::{ALL, has, names_resource},
};
use std::{collections::BTreeSet, fmt};
use tenure_fields::{FieldSet, Path, PathElement};
use tenure_value::{Limits, Object, Text, Value, yaml};

/// The annotation of a Role or ClusterRole that has its field rules, as YAML or JSON.
pub const FIELD_RULES_ANNOTATION: &str = "tenure.dev/field-rules";

/// A limit on what a role's write permissions may change.
///
/// ```
/// use tenure_authorization::rbac::FieldRule;
///
/// let rules = FieldRule::parse("[{resources: [deployments], apiGroups: [apps], fields: [.spec.replicas]}]")?;
/// assert_eq!(rules[0].to_string(), "fields .spec.replicas of deployments.apps");
/// let error = FieldRule::parse("[{resources: [deployments], field: [.spec]}]").unwrap_err();
/// assert!(error.to_string().starts_with(r#"[0]: unknown field "field"; a field rule has apiGroups, resources,"#));
/// # Ok::<(), tenure_authorization::rbac::FieldRuleError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldRule {
    /// The API groups of the resources that it limits; the core group if it names none.
    pub api_groups: Vec<Text>,
    /// The resources that it limits, as in a policy rule.
    pub resources: Vec<Text>,
    /// The fields that may change, with all below them; every field if empty.
    pub fields: Vec<FieldPattern>,
    /// The fields that may not change, even if `fields` contains them.
    pub except_fields: Vec<FieldPattern>,
    /// The permitted field managers; every manager if empty.
    pub managers: Vec<Text>,
    /// Whether an apply may force conflicts.
    pub force: bool,
    /// How many changes a user may make in a minute; any number if `None`.
    pub changes_per_minute: Option<u32>,
}

/// A path in which `[*]` stands for every item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPattern {
    text: Text,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Is(PathElement),
    AnyItem,
}

/// Why an annotation has no field rules: the place, the problem, and the correct form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {message}")]
pub struct FieldRuleError {
    /// The place in the annotation.
    pub at: String,
    /// The problem.
    pub message: String,
}

/// A write as field rules see it.
#[derive(Clone, Copy, Debug)]
pub struct FieldWrite<'w> {
    /// The fields that the write adds, changes or removes.
    pub changed: &'w FieldSet,
    /// The lists whose items it puts into another order.
    pub reordered: &'w FieldSet,
    /// The field manager.
    pub manager: &'w str,
    /// Whether it forces conflicts.
    pub force: bool,
}

/// A write that changes no field, or no order.
pub static NO_FIELDS: FieldSet = FieldSet::EMPTY;

/// How many fields a refusal names.
const MOST_LISTED: usize = 10;

const MEMBERS: [&str; 7] =
    ["apiGroups", "resources", "fields", "exceptFields", "managers", "force", "changesPerMinute"];

impl FieldRule {
    /// Reads the annotation of a role.
    pub fn parse(annotation: &str) -> Result<Vec<FieldRule>, FieldRuleError> {
        let wrong = |message: String| FieldRuleError { at: "the annotation".into(), message };
        let value = yaml::parse(annotation.as_bytes(), &Limits::default())
            .map_err(|error| wrong(format!("is not YAML or JSON: {error}")))?;
        let list = value.as_array().ok_or_else(|| wrong("must be a list of field rules".into()))?;
        list.iter().enumerate().map(|(at, rule)| FieldRule::read(rule, &format!("[{at}]"))).collect()
    }

    fn read(rule: &Value, at: &str) -> Result<FieldRule, FieldRuleError> {
        let wrong = |message: String| FieldRuleError { at: at.into(), message };
        let rule = rule.as_object().ok_or_else(|| wrong("must be an object".into()))?;
        if let Some((name, _)) = rule.iter().find(|(name, _)| !MEMBERS.contains(&name.as_str())) {
            return Err(wrong(format!("unknown field {name:?}; a field rule has {}", MEMBERS.join(", "))));
        }
        let force = match rule.get("force") {
            None => false,
            Some(force) => force.as_bool().ok_or_else(|| wrong("force must be true or false".into()))?,
        };
        let changes_per_minute = match rule.get("changesPerMinute") {
            None => None,
            Some(most) => {
                let most = most.as_i64().and_then(|most| u32::try_from(most).ok()).filter(|most| *most > 0);
                Some(most.ok_or_else(|| wrong("changesPerMinute must be a whole number above 0".into()))?)
            }
        };
        let (api_groups, resources) = (texts(rule, "apiGroups", at)?, texts(rule, "resources", at)?);
        if resources.is_empty() {
            return Err(wrong("resources must name at least one resource".into()));
        }
        let patterns = |field| -> Result<Vec<FieldPattern>, FieldRuleError> {
            texts(rule, field, at)?.into_iter().map(|text| FieldPattern::parse(text, at)).collect()
        };
        Ok(FieldRule {
            api_groups: if api_groups.is_empty() { vec!["".into()] } else { api_groups },
            resources,
            fields: patterns("fields")?,
            except_fields: patterns("exceptFields")?,
            managers: texts(rule, "managers", at)?,
            force,
            changes_per_minute,
        })
    }

    /// Whether the rule limits writes to a resource.
    pub(crate) fn limits(&self, group: &str, resource: &str, subresource: &str) -> bool {
        has(&self.api_groups, group)
            && self.resources.iter().any(|own| names_resource(own, resource, subresource))
    }

    /// Whether the rule limits writes to any resource that a rule of a role names.
    pub(crate) fn touches(&self, rule: &PolicyRule) -> bool {
        let names = |resource: &Text| {
            let (name, below) = resource.split_once('/').unwrap_or((resource, ""));
            resource == ALL
                || self.resources.iter().any(|own| match own.split_once('/') {
                    Some((_, own)) if name == ALL => own == below,
                    _ => names_resource(own, name, below),
                })
        };
        rule.api_groups.iter().any(|group| group == ALL || has(&self.api_groups, group))
            && rule.resources.iter().any(names)
    }

    /// Whether the rule permits a write apart from its fields; the reason if it does not.
    fn refuses(&self, write: &FieldWrite<'_>) -> Option<String> {
        if !has(&self.managers, write.manager) && !self.managers.is_empty() {
            return Some(format!("field manager {:?} is not one of {:?}", write.manager, self.managers));
        }
        (write.force && !self.force).then(|| "force is not permitted".into())
    }

    /// Whether the rule permits the items of a list to change their order: as a change of the list, or of all its items.
    fn permits_order(&self, list: &[PathElement]) -> bool {
        let is_all_items = |pattern: &FieldPattern| match pattern.steps.split_last() {
            Some((Step::AnyItem, steps)) => steps.len() == list.len() && pattern.agrees(list),
            _ => false,
        };
        let permits = |pattern: &FieldPattern| pattern.contains(list) || is_all_items(pattern);
        (self.fields.is_empty() || self.fields.iter().any(permits))
            && !self.except_fields.iter().any(|pattern| pattern.overlaps(list))
    }

    /// Whether the rule permits a field to change.
    fn permits(&self, path: &[PathElement]) -> bool {
        (self.fields.is_empty() || self.fields.iter().any(|pattern| pattern.contains(path)))
            && !self.except_fields.iter().any(|pattern| pattern.overlaps(path))
    }
}

/// Checks a write against the rules that permit it together. Returns an error for each field that none of them
/// permits to change, or why none applies.
pub fn check_fields(rules: &[&FieldRule], write: &FieldWrite<'_>) -> Result<(), Vec<String>> {
    let (mut usable, mut refusals) = (Vec::new(), Vec::new());
    for rule in rules {
        match rule.refuses(write) {
            None => usable.push(*rule),
            Some(reason) => refusals.push(format!("{rule}: {reason}")),
        }
    }
    if usable.is_empty() {
        return Err(refusals);
    }
    let mut denied = Vec::new();
    write.changed.visit(|path| {
        if !usable.iter().any(|rule| rule.permits(path)) {
            denied.push((path.to_vec(), "may not change"));
        }
    });
    write.reordered.visit(|path| {
        if !usable.iter().any(|rule| rule.permits_order(path)) {
            denied.push((path.to_vec(), "the order of its items may not change"));
        }
    });
    if denied.is_empty() {
        return Ok(());
    }
    let permitted = usable.iter().map(|rule| rule.to_string()).collect::<Vec<_>>().join("; ");
    let listed = denied.iter().take(MOST_LISTED).map(|(path, why)| (Path::from(path.clone()), why));
    let mut reasons: Vec<String> =
        listed.map(|(path, why)| format!("{path}: {why}; permitted: {permitted}")).collect();
    if denied.len() > MOST_LISTED {
        reasons.push(format!("and {} more fields", denied.len() - MOST_LISTED));
    }
    reasons.extend(refusals);
    Err(reasons)
}

/// Returns the choices of rules that a permitted write is counted for: for every change that no rule without a quota permits, the places
/// of those that do.
pub fn counted_rules(rules: &[&FieldRule], write: &FieldWrite<'_>) -> BTreeSet<Vec<usize>> {
    let usable: Vec<_> = rules.iter().enumerate().filter(|(_, rule)| rule.refuses(write).is_none()).collect();
    let mut choices = BTreeSet::new();
    let mut count = |permits: &dyn Fn(&FieldRule) -> bool| {
        let permitting = || usable.iter().filter(|(_, rule)| permits(rule));
        if permitting().all(|(_, rule)| rule.changes_per_minute.is_some()) {
            choices.insert(permitting().map(|(place, _)| *place).collect());
        }
    };
    write.changed.visit(|path| count(&|rule| rule.permits(path)));
    write.reordered.visit(|path| count(&|rule| rule.permits_order(path)));
    choices
}

impl FieldPattern {
    fn parse(text: Text, at: &str) -> Result<FieldPattern, FieldRuleError> {
        let mut steps = Vec::new();
        for (number, part) in text.split("[*]").enumerate() {
            if number > 0 {
                steps.push(Step::AnyItem);
            }
            let path = Path::parse(part).map_err(|error| FieldRuleError {
                at: at.into(),
                message: format!(
                    "{text:?} is not a path such as .spec.replicas or .spec.ports[*].port: {error}"
                ),
            })?;
            steps.extend(path.elements().iter().cloned().map(Step::Is));
        }
        if steps.is_empty() {
            let message = "an empty path; leave fields out to permit every field".into();
            return Err(FieldRuleError { at: at.into(), message });
        }
        Ok(FieldPattern { text, steps })
    }

    /// Whether a path is the pattern's or below it.
    fn contains(&self, path: &[PathElement]) -> bool {
        self.steps.len() <= path.len() && self.agrees(path)
    }

    /// Whether a path is the pattern's, below it, or a parent of it.
    fn overlaps(&self, path: &[PathElement]) -> bool {
        self.agrees(path)
    }

    /// Whether every path of another pattern is one of this pattern.
    pub(super) fn contains_pattern(&self, other: &FieldPattern) -> bool {
        let contains = |(own, other): (&Step, &Step)| match (own, other) {
            (Step::Is(own), Step::Is(other)) => own == other,
            (Step::AnyItem, Step::Is(other)) => !matches!(other, PathElement::Field(_)),
            (Step::AnyItem, Step::AnyItem) => true,
            (Step::Is(_), Step::AnyItem) => false,
        };
        self.steps.len() <= other.steps.len() && self.steps.iter().zip(&other.steps).all(contains)
    }

    /// Whether a path can be one of both patterns, or lead to both.
    pub(super) fn meets(&self, other: &FieldPattern) -> bool {
        let meets = |(own, other): (&Step, &Step)| match (own, other) {
            (Step::Is(own), Step::Is(other)) => own == other,
            (Step::AnyItem, Step::Is(item)) | (Step::Is(item), Step::AnyItem) => {
                !matches!(item, PathElement::Field(_))
            }
            (Step::AnyItem, Step::AnyItem) => true,
        };
        self.steps.iter().zip(&other.steps).all(meets)
    }

    fn agrees(&self, path: &[PathElement]) -> bool {
        self.steps.iter().zip(path).all(|(step, element)| match step {
            Step::Is(own) => own == element,
            Step::AnyItem => !matches!(element, PathElement::Field(_)),
        })
    }
}

impl fmt::Display for FieldRule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |patterns: &[FieldPattern]| {
            patterns.iter().map(|pattern| pattern.text.as_str()).collect::<Vec<_>>().join(", ")
        };
        match self.fields.is_empty() {
            true => write!(out, "all fields")?,
            false => write!(out, "fields {}", list(&self.fields))?,
        }
        if !self.except_fields.is_empty() {
            write!(out, " except {}", list(&self.except_fields))?;
        }
        let suffix = |group: &Text| if group.is_empty() { String::new() } else { format!(".{group}") };
        let resources = self.resources.iter().flat_map(|resource| {
            self.api_groups.iter().map(move |group| format!("{resource}{}", suffix(group)))
        });
        write!(out, " of {}", resources.collect::<Vec<_>>().join(", "))?;
        match self.changes_per_minute {
            Some(most) => write!(out, ", {most} changes a minute"),
            None => Ok(()),
        }
    }
}

fn texts(rule: &Object, field: &str, at: &str) -> Result<Vec<Text>, FieldRuleError> {
    let wrong = || FieldRuleError { at: at.into(), message: format!("{field} must be a list of strings") };
    let Some(list) = rule.get(field) else { return Ok(Vec::new()) };
    let list = list.as_array().ok_or_else(wrong)?;
    list.iter().map(|item| item.as_str().map(Text::from).ok_or_else(wrong)).collect()
}
