//! The steps of a path: the functions whose instructions, with what they call, are counted apart. Functions at the borders of crates are
//! named, which the compiler does not inline.

/// A step of a path.
#[derive(Debug)]
pub struct Step {
    /// What it does.
    pub name: &'static str,
    /// What the names of its functions contain, in this order, the last part at their end. None of them is called by a function of
    /// another step.
    pub functions: &'static [&'static [&'static str]],
}

/// The path that has steps.
pub const APPLY: &str = "request: apply that changes";

/// What is between the names of a path and its step in a figure.
const BORDER: &str = " > ";

/// The steps of a write, in order.
const STEPS: [Step; 15] = [
    Step {
        name: "read the configuration",
        functions: &[&["tenure_value::yaml::parse_any_checked"], &["tenure_value::yaml::parse_json_checked"]],
    },
    Step { name: "find the live object", functions: &[&["Objects::peek::{{closure}}"]] },
    Step { name: "merge it and decide who owns its fields", functions: &[&["tenure_apply::apply::apply"]] },
    Step {
        name: "decode the changed parts and set defaults in them",
        functions: &[&["BuiltinStrategy", ">::decode"]],
    },
    Step {
        name: "prepare by the strategy of the kind",
        functions: &[&["BuiltinStrategy", ">::prepare_for_update"]],
    },
    Step { name: "validate", functions: &[&["BuiltinStrategy", ">::validate_update"]] },
    Step { name: "warnings about the template", functions: &[&["BuiltinStrategy", ">::warnings"]] },
    Step { name: "canonical form", functions: &[&["BuiltinStrategy", ">::canonicalize"]] },
    Step { name: "bound the size", functions: &[&["object_size::check_size"]] },
    Step { name: "print the object for the store", functions: &[&["tenure_catalog::object::encode_after"]] },
    Step { name: "the record of history", functions: &[&["History::record"]] },
    Step { name: "count the changed fields", functions: &[&["History::count"]] },
    Step { name: "commit in memory", functions: &[&["MemoryStore", ">::commit::{{closure}}"]] },
    Step { name: "the response", functions: &[&["tenure_catalog::object::Document::with_metadata"]] },
    Step { name: "controllers that see the change", functions: &[&["controllers::start::{{closure}}"]] },
];

impl Step {
    /// What is in none of the steps.
    pub const REST: Step = Step { name: "what is between them", functions: &[] };

    /// Returns the steps of a path.
    pub fn of(path: &str) -> &'static [Step] {
        if path == APPLY { &STEPS } else { &[] }
    }

    /// Returns the name of the figure of the step of a path.
    pub fn figure(&self, path: &str) -> String {
        format!("{path}{BORDER}{}", self.name)
    }

    /// Whether a figure is that of a step.
    pub fn is_figure(name: &str) -> bool {
        name.contains(BORDER)
    }

    /// Whether a function is one of the step.
    pub fn has(&self, function: &str) -> bool {
        // The levels of a recursion have numbers.
        let function = function.split_once('\'').map_or(function, |(function, _)| function);
        self.functions.iter().any(|parts| {
            let Some((last, before)) = parts.split_last() else { return false };
            let mut rest = function.strip_suffix(last);
            for part in before {
                rest = rest.and_then(|rest| rest.split_once(part)).map(|(_, rest)| rest);
            }
            rest.is_some()
        })
    }
}
