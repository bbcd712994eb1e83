//! The tables of `docs/internals/architecture.md` list what every request passes and the phases of a write as the code does: each
//! call of a table is in the function, in the order of the table, and the function calls no further method of `self`.

use std::{fs, path::Path};

/// The text of a function, from its name to the brace that ends it.
fn function<'t>(source: &'t str, name: &str) -> &'t str {
    let start = source.find(&format!("async fn {name}(")).unwrap_or_else(|| panic!("{name} exists"));
    let end = source[start..].find("\n    }\n").unwrap_or_else(|| panic!("{name} ends"));
    &source[start..start + end]
}

/// The calls that the second column of a section's table names.
fn calls<'t>(document: &'t str, section: &str) -> Vec<&'t str> {
    let section = document.split("\n## ").find(|part| part.starts_with(section)).expect("the section exists");
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.filter_map(|row| row.split(" | ").nth(1))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect()
}

/// The methods of `self` that a function calls.
fn own_calls(body: &str) -> Vec<&str> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let ends = body.match_indices("self.").map(|(at, _)| at);
    ends.filter_map(|at| {
        let name = &body[at..];
        let end = name[5..].find(|letter| !is_name(letter))? + 5;
        name[end..].starts_with('(').then_some(&name[..end])
    })
    .collect()
}

#[test]
fn tables_of_the_architecture_list_the_code_in_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| fs::read_to_string(root.join(path)).expect("a file of the repository");
    let document = read("docs/internals/architecture.md");
    for (section, file, name) in [
        ("What every request passes", "handler_chain.rs", "chain"),
        ("Phases of a write", "write/pipeline.rs", "attempt_phases"),
    ] {
        let source = read(&format!("crates/tenure-server/src/{file}"));
        let (body, calls) = (function(&source, name), calls(&document, section));
        assert!(calls.len() > 8, "{section}: {calls:?}");
        let positions: Vec<_> = calls.iter().map(|call| (body.find(&format!("{call}(")), call)).collect();
        let missing: Vec<_> = positions.iter().filter(|(position, _)| position.is_none()).collect();
        assert!(missing.is_empty(), "{section}: {name} does not call {missing:?}");
        assert!(positions.is_sorted(), "{section}: another order than {name}: {positions:?}");
        let unlisted: Vec<_> = own_calls(body).into_iter().filter(|call| !calls.contains(call)).collect();
        assert!(unlisted.is_empty(), "{section} lacks {unlisted:?}");
    }
}
