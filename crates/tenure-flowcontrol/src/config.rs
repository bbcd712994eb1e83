//! Flow schemas and priority levels as the server uses them, read from the stored objects. The mandatory objects
//! apply even if they are missing, so that every request has a flow.

use crate::{bootstrap, dealer::mix_text, rule::Rule};
use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::LazyLock,
};
use tenure_meta::NameFilter;
use tenure_value::{Text, Value};

/// How many seats a level has and what happens to requests beyond them.
#[derive(Clone, Debug, PartialEq)]
pub enum Level {
    /// Its requests start at once, regardless of the load.
    Exempt,
    /// It has a share of the seats.
    Limited {
        /// The share, relative to those of the other levels.
        shares: u32,
        /// How much of its seats other levels may use, in percent.
        lendable_percent: u32,
        /// How many seats of other levels it may use, in percent of its own; `None` for no limit.
        borrowing_percent: Option<u32>,
        /// The queues; `None` if requests beyond the seats are refused.
        queuing: Option<Queuing>,
    },
}

/// The queues of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queuing {
    /// How many queues there are.
    pub queues: usize,
    /// How many of them a flow can choose from.
    pub hand_size: usize,
    /// How many requests may wait in one of them.
    pub queue_length: usize,
}

/// The most queues of a level; Kubernetes accepts more, which has no benefit.
const MAX_QUEUES: i64 = 4096;

/// What the hashes of flows begin with: another number in each process, so that no user can choose a name that shares the queues of
/// another.
static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0));

/// A priority level.
#[derive(Clone, Debug, PartialEq)]
pub struct PriorityLevel {
    /// The name.
    pub name: Text,
    /// The uid; empty if the object is missing.
    pub uid: Text,
    /// Its behaviour.
    pub level: Level,
}

/// A flow schema: which requests it matches, and which level they belong to.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSchema {
    /// The name.
    pub name: Text,
    /// The uid; empty if the object is missing.
    pub uid: Text,
    /// Schemas with a lower precedence match first.
    pub precedence: i64,
    /// The index of its level in the configuration.
    pub level: usize,
    /// How flows are distinguished.
    pub(crate) distinguisher: Distinguisher,
    /// What the hashes of its flows begin with.
    pub(crate) hash: u64,
    /// The names of the users and groups that its rules are for.
    pub(crate) names: NameFilter,
    pub(crate) rules: Vec<Rule>,
}

/// How the flows of a schema are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distinguisher {
    /// All requests are one flow.
    None,
    ByUser,
    ByNamespace,
}

/// All levels, and the schemas in the order in which they match.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    levels: Vec<PriorityLevel>,
    schemas: Vec<FlowSchema>,
}

impl Default for Config {
    /// Returns the configuration of a server without any objects.
    fn default() -> Config {
        Config::read(&[], &[])
    }
}

fn text(value: &Value, path: &[&str]) -> Text {
    value.at(path.iter().copied()).and_then(Value::as_str).map(Text::new).unwrap_or_default()
}

fn number(value: &Value, path: &[&str]) -> Option<i64> {
    value.at(path.iter().copied()).and_then(Value::as_i64)
}

impl Config {
    /// Reads stored objects. A schema whose level is missing matches nothing.
    pub fn read(schemas: &[Value], levels: &[Value]) -> Config {
        let mandatory: Vec<Value> = bootstrap::objects()
            .into_iter()
            .filter(|object| object.is_mandatory)
            .map(|object| object.object)
            .collect();
        let with_mandatory = |given: &[Value], kind: &str| -> Vec<Value> {
            let names: Vec<Text> = given.iter().map(|object| text(object, &["metadata", "name"])).collect();
            let missing = mandatory.iter().filter(|object| {
                object.get("kind").and_then(Value::as_str) == Some(kind)
                    && !names.contains(&text(object, &["metadata", "name"]))
            });
            given.iter().chain(missing).cloned().collect()
        };
        let levels: Vec<PriorityLevel> = with_mandatory(levels, "PriorityLevelConfiguration")
            .iter()
            .map(|object| PriorityLevel {
                name: text(object, &["metadata", "name"]),
                uid: text(object, &["metadata", "uid"]),
                level: Level::read(object.get("spec").unwrap_or(&Value::Null)),
            })
            .collect();
        let places: HashMap<&Text, usize> =
            levels.iter().enumerate().map(|(place, level)| (&level.name, place)).collect();
        let mut schemas: Vec<FlowSchema> = with_mandatory(schemas, "FlowSchema")
            .iter()
            .filter_map(|object| FlowSchema::read(object, &places))
            .collect();
        schemas.sort_by(|a, b| (a.precedence, &a.name).cmp(&(b.precedence, &b.name)));
        Config { levels, schemas }
    }

    /// Returns the levels.
    pub fn levels(&self) -> &[PriorityLevel] {
        &self.levels
    }

    /// Returns the index of a level by its name; that of `catch-all` if there is none.
    pub fn place_of(&self, level: &str) -> usize {
        let place = |name: &str| self.levels.iter().position(|level| level.name == name);
        place(level).or_else(|| place("catch-all")).unwrap_or(0)
    }

    /// Returns the schemas in the order in which they match.
    pub fn schemas(&self) -> &[FlowSchema] {
        &self.schemas
    }
}

impl Level {
    fn read(spec: &Value) -> Level {
        if text(spec, &["type"]) == "Exempt" {
            return Level::Exempt;
        }
        let limit =
            |name: &str| number(spec, &["limited", name]).and_then(|number| u32::try_from(number).ok());
        let queuing = |name: &str, default: i64, most: i64| {
            number(spec, &["limited", "limitResponse", "queuing", name]).unwrap_or(default).clamp(1, most)
                as usize
        };
        let queues = queuing("queues", 64, MAX_QUEUES);
        Level::Limited {
            shares: limit("nominalConcurrencyShares").unwrap_or(30),
            lendable_percent: limit("lendablePercent").unwrap_or(0).min(100),
            borrowing_percent: limit("borrowingLimitPercent"),
            queuing: (text(spec, &["limited", "limitResponse", "type"]) == "Queue").then(|| Queuing {
                queues,
                hand_size: queuing("handSize", 8, queues as i64),
                queue_length: queuing("queueLengthLimit", 50, i64::MAX),
            }),
        }
    }
}

impl FlowSchema {
    fn read(value: &Value, levels: &HashMap<&Text, usize>) -> Option<FlowSchema> {
        let spec = value.get("spec").unwrap_or(&Value::Null);
        let rules = spec.get("rules").and_then(Value::as_array);
        let rules: Vec<Rule> = rules.map(|rules| rules.iter().map(Rule::read).collect()).unwrap_or_default();
        let name = text(value, &["metadata", "name"]);
        Some(FlowSchema {
            hash: mix_text(*SEED, &name),
            name,
            uid: text(value, &["metadata", "uid"]),
            precedence: number(spec, &["matchingPrecedence"]).unwrap_or(1000),
            level: *levels.get(&text(spec, &["priorityLevelConfiguration", "name"]))?,
            distinguisher: match text(spec, &["distinguisherMethod", "type"]).as_str() {
                "ByUser" => Distinguisher::ByUser,
                "ByNamespace" => Distinguisher::ByNamespace,
                _ => Distinguisher::None,
            },
            names: rules.iter().map(Rule::names).fold(NameFilter::NONE, NameFilter::or),
            rules,
        })
    }
}
