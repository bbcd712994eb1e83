//! `tenure patch explain`: the result of a patch with the rule that decided about every line of it that the patch
//! touched, and what is gone with the reason why.

use super::{Order, read, typed::Typed};
use crate::{
    Error, Outcome,
    compatibility::AnswerFor,
    terminal::{Format, Ink, Terminal},
};
use clap::Args;
use std::{collections::HashMap, fmt::Write, path::PathBuf};
use tenure_patch::strategic::{self, PatchDecision, PatchRule, PatchTrace};
use tenure_schema::TypeRef;
use tenure_value::{Pointer, Value, yaml};

/// Apply a strategic merge patch and show which rule decided about each line.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tenure patch explain live.yaml patch.yaml
  tenure patch explain live.yaml patch.yaml --output json")]
pub struct Options {
    /// The document.
    live: PathBuf,
    /// The strategic merge patch.
    patch: PathBuf,
    /// Where entries go that only the live list has.
    #[arg(long, value_enum, value_name = "ORDER", default_value_t)]
    order: Order,
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    answer_for: AnswerFor,
    #[command(flatten)]
    typed: Typed,
}

/// Prints the result and the trace beside it.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let [live, patch] = read([&options.live, &options.patch])?;
    let profile = options.typed.profile(options.answer_for)?;
    let types = options.typed.types(profile)?;
    let ty = options.typed.of(&types, &live)?;
    let how = strategic::ApplyOptions::default().profile(profile).live_only(options.order.into());
    let (result, trace) = strategic::apply_explained(&live.value, &patch.value, ty, &how)
        .map_err(|error| Error::document(&patch.place, error))?;
    match options.output {
        Format::Text => terminal.print(Beside::of(&result, &trace, ty).render(terminal))?,
        format => terminal.print_value(&to_value(&result, &trace), format)?,
    }
    Ok(Outcome::Done)
}

fn to_value(result: &Value, trace: &PatchTrace) -> Value {
    let decision = |decision: &PatchDecision| {
        Value::object([
            ("path", Value::from(decision.path.to_string())),
            ("rule", Value::from(decision.rule.to_string())),
        ])
    };
    Value::object([
        ("result", result.clone()),
        ("trace", Value::array(trace.decisions().iter().map(decision))),
    ])
}

/// The lines of the result, each with its rules, and what is gone.
struct Beside {
    lines: Vec<(String, Vec<PatchRule>)>,
    gone: Vec<PatchDecision>,
}

impl Beside {
    fn of(result: &Value, trace: &PatchTrace, ty: TypeRef<'_>) -> Beside {
        let mut rules: HashMap<Pointer, Vec<PatchRule>> = HashMap::new();
        let mut gone = Vec::new();
        for decision in trace.decisions() {
            match decision.path.pointer(result, ty) {
                Some(way) if !is_removal(&decision.rule) => {
                    rules.entry(way).or_default().push(decision.rule.clone())
                }
                _ => gone.push(decision.clone()),
            }
        }
        let lines = yaml::to_lines(result).into_iter().map(|line| {
            // A line may begin an item and its first field at once; a rule is shown once, where its value begins.
            let rules: Vec<PatchRule> =
                line.at.ancestors().rev().filter_map(|at| rules.remove(&at)).flatten().collect();
            (line.text, rules)
        });
        Beside { lines: lines.collect(), gone }
    }

    fn render(&self, terminal: &Terminal) -> String {
        let paint = terminal.paint;
        let widest = self.lines.iter().map(|(text, _)| text.chars().count()).max().unwrap_or_default();
        let column = widest.min(terminal.width * 3 / 5);
        let mut out = String::new();
        for (text, rules) in &self.lines {
            let Some((first, others)) = rules.split_first() else {
                let _ = writeln!(out, "{text}");
                continue;
            };
            let words = others.iter().fold(first.to_string(), |words, rule| format!("{words}, {rule}"));
            let room = column.saturating_sub(text.chars().count());
            let _ = writeln!(
                out,
                "{text}{:room$}  {} {}",
                "",
                paint.ink(Ink::Faint, "#"),
                paint.ink(ink(rules), words)
            );
        }
        if !self.gone.is_empty() {
            let _ = writeln!(out, "# {}", paint.ink(Ink::Strong, "Removed:"));
        }
        for decision in &self.gone {
            let _ = writeln!(out, "#   {}: {}", decision.path, paint.ink(Ink::Removed, &decision.rule));
        }
        out
    }
}

/// Whether a rule removes something.
fn is_removal(rule: &PatchRule) -> bool {
    matches!(
        rule,
        PatchRule::RemovedByNull
            | PatchRule::RemovedByDirective
            | PatchRule::RemovedFromSet
            | PatchRule::Cleared
    )
}

fn ink(rules: &[PatchRule]) -> Ink {
    match rules.last() {
        Some(PatchRule::Added) => Ink::Added,
        Some(PatchRule::Set | PatchRule::ReplacedByDirective | PatchRule::ReplacedByStrategy) => Ink::Changed,
        _ => Ink::Faint,
    }
}
