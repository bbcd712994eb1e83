//! Parts of a blame: the lines of some managers, those below some fields, and those that are left when everything that one manager owns
//! is folded. The lines stay YAML: a dash that would be lost moves to the next line of its item.

use super::{Blame, Line, Ownership};
use crate::{LiveObject, owner::Owner};
use std::collections::HashSet;
use tenure_fields::Path;
use tenure_schema::TypeRef;
use tenure_value::Pointer;

/// The least number of lines that are worth folding.
const FOLDED: usize = 3;

impl Blame {
    /// Keeps only the fields of the given managers and the lines that lead to them; all, if no manager is given.
    pub fn only(self, managers: &[String]) -> Blame {
        if managers.is_empty() {
            return self;
        }
        let selected = |owners: &[Owner]| {
            owners.iter().any(|owner| managers.iter().any(|name| *name == owner.name.as_str()))
        };
        let is_kept = |line: &Line| matches!(&line.ownership, Ownership::Owned(owners) if selected(owners));
        self.keep(is_kept, |_, owners| selected(owners))
    }

    /// Keeps only the fields at and below the given paths of the object, and the lines that lead to them; all, if no path is given.
    pub fn below(self, paths: &[Path], live: &LiveObject, ty: TypeRef<'_>) -> Blame {
        if paths.is_empty() {
            return self;
        }
        let places: Vec<Pointer> = paths.iter().filter_map(|path| path.pointer(&live.object, ty)).collect();
        let is_below = |line: &Line| places.iter().any(|place| line.at.starts_with(place));
        self.keep(is_below, |path, _| paths.iter().any(|wanted| path.starts_with(wanted)))
    }

    /// Keeps the lines and the fields that are selected, and the parents of the lines.
    fn keep(mut self, is_kept: impl Fn(&Line) -> bool, is_field: impl Fn(&Path, &[Owner]) -> bool) -> Blame {
        let mut kept: HashSet<Pointer> = HashSet::new();
        for line in self.lines.iter().filter(|line| is_kept(line)) {
            for at in line.at.ancestors() {
                // A parent that is kept already has its own parents kept.
                if !kept.insert(at) {
                    break;
                }
            }
        }
        self.lines = with_dashes(self.lines, |line| kept.contains(&line.at));
        self.fields.retain(|field| is_field(&field.path, &field.owners));
        self.absent.retain(|(path, owners)| is_field(path, owners));
        self
    }

    /// Folds every object and list whose lines have the same owners into its first line.
    pub fn folded(mut self) -> Blame {
        let lines = std::mem::take(&mut self.lines);
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            let inside = lines.get(at + 1..).unwrap_or_default();
            let inside = inside
                .iter()
                .take_while(|below| below.at.starts_with(&line.at) && below.at != line.at)
                .count();
            let end = at + 1 + inside;
            match (inside >= FOLDED).then(|| same_owners(lines.get(at..end).unwrap_or_default())).flatten() {
                Some(owners) => {
                    let text = format!("{} … {inside} lines", line.text);
                    self.lines.push(Line { text, ownership: Ownership::Owned(owners), ..line.clone() });
                    at = end;
                }
                None => {
                    self.lines.push(line.clone());
                    at += 1;
                }
            }
        }
        self
    }
}

/// Returns the owners that all lines that can have owners have in common; `None` if they differ.
fn same_owners(lines: &[Line]) -> Option<Vec<Owner>> {
    let mut common: Option<&Vec<Owner>> = None;
    for (at, line) in lines.iter().enumerate() {
        let is_parent = lines
            .get(at + 1)
            .is_some_and(|next| next.at.len() > line.at.len() && next.at.starts_with(&line.at));
        match (&line.ownership, common) {
            (Ownership::NotOwnable, _) if is_parent => {}
            (Ownership::Owned(owners), None) => common = Some(owners),
            (Ownership::Owned(owners), Some(known)) if owners == known => {}
            _ => return None,
        }
    }
    common.cloned()
}

/// Returns the lines to keep. Where the first line of a list item is left out, its dash moves to the next line of the item.
fn with_dashes(lines: Vec<Line>, is_kept: impl Fn(&Line) -> bool) -> Vec<Line> {
    let mut kept: Vec<Line> = Vec::with_capacity(lines.len());
    // The columns of dashes that wait for a line.
    let mut waiting: Vec<usize> = Vec::new();
    let mut previous: Option<Pointer> = None;
    for mut line in lines {
        // Further lines of a text may begin with a dash of their own.
        let is_continued = previous.as_ref() == Some(&line.at);
        previous = Some(line.at.clone());
        let indent = line.text.len() - line.text.trim_start_matches(' ').len();
        if !is_continued {
            waiting.retain(|column| *column < indent);
        }
        if is_kept(&line) {
            for column in waiting.drain(..) {
                line.text.replace_range(column..column + 2, "- ");
            }
            kept.push(line);
        } else if !is_continued {
            let mut column = indent;
            while line.text.get(column..).is_some_and(|rest| rest.starts_with("- ")) {
                waiting.push(column);
                column += 2;
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_schema::Schema;

    fn live() -> LiveObject {
        let shown = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","managedFields":[
            {"manager":"alice","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":
                {"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:args":{}},
                    "k:{\"name\":\"d\"}":{".":{},"f:name":{},"f:image":{}}}}}},
            {"manager":"bob","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":
                {"f:metadata":{"f:labels":{"f:a":{},"f:b":{},"f:c":{}}},
                 "f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{}}}}}}],
            "labels":{"a":"1","b":"2","c":"3"}},
            "spec":{"containers":[{"args":["- x"],"image":"i","name":"c"},{"image":"j","name":"d"}]}}"#;
        LiveObject::read(&shown.parse().unwrap()).unwrap()
    }

    fn blame() -> Blame {
        Blame::of(&live(), Schema::builtin().kind("v1", "Pod").unwrap())
    }

    fn texts(blame: &Blame) -> Vec<&str> {
        blame.lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn an_item_keeps_its_dash() {
        let bob = blame().only(&["bob".into()]);
        assert_eq!(
            texts(&bob),
            [
                "metadata:",
                "  labels:",
                "    a: \"1\"",
                "    b: \"2\"",
                "    c: \"3\"",
                "spec:",
                "  containers:",
                "  - name: c"
            ]
        );
    }

    #[test]
    fn a_part_has_the_lines_that_lead_to_it() {
        let ty = Schema::builtin().kind("v1", "Pod").unwrap();
        let path = live().field(".spec.containers[name=d]", ty).unwrap();
        assert_eq!(
            texts(&blame().below(&[path], &live(), ty)),
            ["spec:", "  containers:", "  - image: j", "    name: d"]
        );
    }

    #[test]
    fn what_one_manager_owns_is_folded() {
        let folded = blame().folded();
        assert!(texts(&folded).contains(&"  labels: … 3 lines"), "{:?}", texts(&folded));
        assert!(texts(&folded).contains(&"    image: i"), "{:?}", texts(&folded));
    }
}
