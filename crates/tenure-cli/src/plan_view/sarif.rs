//! Plans as SARIF 2.1.0, which code hosts show as annotations at the lines of the manifests: conflicts and refused objects as errors,
//! fields that stay although they left the manifests and zero values as warnings.

use super::PlacedPlan;
use tenure_apply::Timestamp;
use tenure_fields::Path;
use tenure_ownership::{ConflictCause, Verdict, diagnosis::CommandLine, owner::describe_all};
use tenure_value::Value;

const STAYS: (&str, &str) = ("FieldStays", "a field left the manifests and stays in the object");
const ZERO: (&str, &str) = ("ZeroValue", "the apply would own a zero value");
const REFUSED: (&str, &str) = ("Refused", "the server refuses the object");

/// Returns plans as a log.
pub fn sarif(plans: &[PlacedPlan<'_>], line: &CommandLine<'_>, now: Timestamp) -> Value {
    let mut results = Vec::new();
    for placed in plans {
        let plan = placed.plan;
        let mut add = |rule: &str, level: &str, path: Option<&Path>, message: String| {
            results.push(result(placed, rule, level, path, &format!("{}: {message}", plan.target)));
        };
        if let Verdict::Refused(problem) = &plan.verdict {
            add(REFUSED.0, "error", None, problem.clone());
        }
        for cause in &plan.causes {
            let advice = cause
                .remedies
                .iter()
                .map(|remedy| remedy.command(line).unwrap_or_else(|| remedy.effect.clone()));
            let advice: Vec<String> = advice.collect();
            for path in &cause.paths {
                add(
                    cause.cause.word(),
                    "error",
                    Some(path),
                    format!("{}\n{}", cause.sentence, advice.join("\n")),
                );
            }
        }
        for field in &plan.lingering {
            let owners = describe_all(&field.owners, now);
            add(
                STAYS.0,
                "warning",
                Some(&field.path),
                format!("{} is not in the manifest but stays: owned by {owners}", field.path),
            );
        }
        for zero in &plan.zeros {
            add(
                ZERO.0,
                "warning",
                Some(&zero.path),
                format!("{}: the apply would own the zero value {}", zero.path, zero.value),
            );
        }
    }
    let text = |text: &str| Value::object([("text", Value::from(text))]);
    let causes = ConflictCause::ALL.map(|cause| (cause.word(), cause.title()));
    let rules = causes.into_iter().chain([STAYS, ZERO, REFUSED]);
    let rules =
        rules.map(|(id, title)| Value::object([("id", Value::from(id)), ("shortDescription", text(title))]));
    let driver = Value::object([
        ("name", Value::from("tenure")),
        ("informationUri", Value::from(env!("CARGO_PKG_REPOSITORY"))),
        ("version", Value::from(env!("CARGO_PKG_VERSION"))),
        ("rules", Value::array(rules)),
    ]);
    let run = Value::object([
        ("tool", Value::object([("driver", driver)])),
        ("columnKind", Value::from("unicodeCodePoints")),
        ("results", Value::array(results)),
    ]);
    Value::object([
        ("$schema", Value::from("https://json.schemastore.org/sarif-2.1.0.json")),
        ("version", Value::from("2.1.0")),
        ("runs", Value::array([run])),
    ])
}

fn result(placed: &PlacedPlan<'_>, rule: &str, level: &str, path: Option<&Path>, message: &str) -> Value {
    let line = path.map_or(placed.line, |path| placed.line_of(path));
    let uri: String = placed.file.split('/').map(tenure_transport::escaped).collect::<Vec<_>>().join("/");
    let physical = Value::object([
        ("artifactLocation", Value::object([("uri", Value::from(uri))])),
        ("region", Value::object([("startLine", Value::from(line as i64))])),
    ]);
    // The same finding of the next run, whatever its line.
    let print = format!(
        "{rule} {} {}",
        placed.plan.target,
        path.map(|path| path.quoted().to_string()).unwrap_or_default()
    );
    Value::object([
        ("ruleId", Value::from(rule)),
        ("level", Value::from(level)),
        ("message", Value::object([("text", Value::from(message))])),
        ("locations", Value::array([Value::object([("physicalLocation", physical)])])),
        ("partialFingerprints", Value::object([("tenure/v1", Value::from(print))])),
    ])
}
