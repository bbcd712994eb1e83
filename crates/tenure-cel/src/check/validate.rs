//! Checks literals after type checking: durations, timestamps and regular expressions parse, and the elements
//! of a list or map literal have the same type.

use super::Checked;
use crate::{
    error::Issue,
    library::regex,
    syntax::{Expr, ExprId, Literal},
    types::Type,
    value::{Duration, Timestamp},
};

/// The function whose arguments may be lists of mixed types.
const EXEMPT: &str = "format";

pub(super) fn validate(checked: &Checked) -> Vec<Issue> {
    let mut issues = Vec::new();
    // Pending nodes, with whether they are inside an exempt call. Macros use nodes twice; each is visited
    // once.
    let mut pending = vec![(checked.ast.root, false)];
    let mut seen = vec![false; checked.ast.nodes.len()];
    while let Some((id, exempt)) = pending.pop() {
        if seen.get(id.index()).copied().unwrap_or(true) {
            continue;
        }
        seen[id.index()] = true;
        let node = checked.ast.node(id);
        let mut below = exempt;
        match node {
            Expr::Call { function, target, args } => {
                below |= function == EXEMPT;
                if let Some(arg) =
                    args.first().filter(|arg| !is_valid(checked, function, target.is_some(), **arg))
                {
                    issues.push(Issue {
                        offset: checked.ast.offset(*arg),
                        message: format!("invalid {function} argument"),
                    });
                }
            }
            Expr::List { elements, optional } if !exempt => {
                let elements = elements
                    .iter()
                    .enumerate()
                    .map(|(at, element)| (*element, optional.iter().any(|index| *index as usize == at)));
                same_types(checked, elements, true, &mut issues);
            }
            Expr::Map(entries) if !exempt => {
                same_types(checked, entries.iter().map(|entry| (entry.key, false)), false, &mut issues);
                same_types(
                    checked,
                    entries.iter().map(|entry| (entry.value, entry.optional)),
                    false,
                    &mut issues,
                );
            }
            _ => {}
        }
        node.for_each_part(|part| pending.push((part, below)));
    }
    issues
}

fn is_valid(checked: &Checked, function: &str, is_method: bool, arg: ExprId) -> bool {
    let Expr::Literal(Literal::String(text)) = checked.ast.node(arg) else { return true };
    match function {
        "duration" if !is_method => Duration::parse(text).is_some(),
        "timestamp" if !is_method => Timestamp::parse(text).is_some(),
        "matches" if is_method => regex::compile(text).is_ok(),
        _ => true,
    }
}

fn same_types(
    checked: &Checked,
    parts: impl Iterator<Item = (ExprId, bool)>,
    only_first: bool,
    issues: &mut Vec<Issue>,
) {
    let mut expected: Option<&Type> = None;
    for (id, optional) in parts {
        let ty = match checked.ty(id) {
            Type::Optional(inner) if optional => inner,
            other => other,
        };
        match expected {
            None => expected = Some(ty),
            Some(before) if is_equivalent(before, ty) => {}
            Some(before) => {
                let message = format!("expected type '{before}' but found '{ty}'");
                issues.push(Issue { offset: checked.ast.offset(id), message });
                if only_first {
                    return;
                }
            }
        }
    }
}

/// Whether two types are equal as far as both are known.
fn is_equivalent(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => is_equivalent(a, b),
        (Type::Map(k, v), Type::Map(l, w)) => is_equivalent(k, l) && is_equivalent(v, w),
        (a, b) => a == b,
    }
}
