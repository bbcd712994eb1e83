//! Plans as a JUnit report: a test case for every object, which fails if its apply would have conflicts or be refused.

use super::PlacedPlan;
use std::fmt::Write;
use tenure_ownership::{Action, Verdict, diagnosis::CommandLine};

/// Returns plans as a report.
pub fn junit(plans: &[PlacedPlan<'_>], line: &CommandLine<'_>) -> String {
    let number = |action: Action| plans.iter().filter(|placed| placed.plan.action() == action).count();
    // Writing to a string does not fail.
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let (tests, failures, errors) = (plans.len(), number(Action::Conflict), number(Action::Refused));
    let _ = writeln!(
        out,
        "<testsuites>\n  <testsuite name=\"tenure plan\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\">"
    );
    for placed in plans {
        let plan = placed.plan;
        let _ = write!(
            out,
            "    <testcase classname=\"{}\" name=\"{}\" file=\"{}\" line=\"{}\"",
            text(&placed.file),
            text(&plan.target.to_string()),
            text(&placed.file),
            placed.line
        );
        match &plan.verdict {
            Verdict::Refused(problem) => {
                let _ = writeln!(out, ">\n      <error message=\"{}\"/>\n    </testcase>", text(problem));
            }
            Verdict::Conflicts(conflicts, _) => {
                let message: Vec<&str> = plan.causes.iter().map(|cause| cause.cause.title()).collect();
                let _ = writeln!(out, ">\n      <failure message=\"{}\">", text(&message.join("; ")));
                for conflict in conflicts {
                    let _ = writeln!(
                        out,
                        "{}:{}: {}",
                        text(&placed.file),
                        placed.line_of(&conflict.path),
                        text(&conflict.path.quoted().to_string())
                    );
                }
                for cause in &plan.causes {
                    let _ = writeln!(out, "{}", text(&cause.sentence));
                    for remedy in &cause.remedies {
                        let advice = remedy.command(line).unwrap_or_else(|| remedy.effect.clone());
                        let _ = writeln!(out, "  {}", text(&advice));
                    }
                }
                out.push_str("      </failure>\n    </testcase>\n");
            }
            Verdict::Applied(_) | Verdict::Deleted => out.push_str("/>\n"),
        }
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

/// Writes text into XML, without the characters that XML cannot have.
fn text(plain: &str) -> String {
    let mut out = String::with_capacity(plain.len());
    for letter in plain.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push('\t'),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            letter if letter.is_control() => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}
