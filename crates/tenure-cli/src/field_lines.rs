//! The lines of fields in a text of YAML or JSON documents, for annotations at the place where a person can change them. One pass over
//! the text finds all of them; where a field is not written out, the line is that of its nearest parent.

use saphyr_parser::{Event, Parser};
use std::collections::HashMap;

/// A field to find: the number of its document, counted from 1 without empty ones, and the names and positions that lead to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The number of the document.
    pub document: usize,
    /// The names of fields, and the positions in lists.
    pub tokens: Vec<String>,
}

/// What is looked for below one place.
#[derive(Default)]
struct Node {
    below: HashMap<String, usize>,
    /// The wanted fields that go through this place.
    through: Vec<usize>,
}

/// A container that is not complete.
enum Open {
    Mapping {
        node: Option<usize>,
        key: Option<(String, usize)>,
    },
    Sequence {
        node: Option<usize>,
        position: usize,
    },
    /// A key that is itself a container; nothing in it is looked for.
    Key,
}

/// Returns the line of every wanted field, counted from 1; 0 where the document is missing. A text that cannot be read further gives
/// the lines up to there.
pub fn find(text: &str, wanted: &[Wanted]) -> Vec<usize> {
    let (mut nodes, mut roots) = (Vec::new(), HashMap::new());
    for (number, field) in wanted.iter().enumerate() {
        let mut at = *roots.entry(field.document).or_insert_with(|| added(&mut nodes));
        through(&mut nodes, at, number);
        for token in &field.tokens {
            at = match nodes.get(at).and_then(|node: &Node| node.below.get(token)) {
                Some(below) => *below,
                None => {
                    let below = added(&mut nodes);
                    if let Some(node) = nodes.get_mut(at) {
                        node.below.insert(token.clone(), below);
                    }
                    below
                }
            };
            through(&mut nodes, at, number);
        }
    }
    let mut search = Search { nodes, roots, lines: vec![0; wanted.len()], open: Vec::new(), document: 0 };
    for event in Parser::new_from_str(text) {
        let Ok((event, span)) = event else { break };
        search.event(&event, span.start.line());
    }
    search.lines
}

fn added(nodes: &mut Vec<Node>) -> usize {
    nodes.push(Node::default());
    nodes.len() - 1
}

fn through(nodes: &mut [Node], at: usize, number: usize) {
    if let Some(node) = nodes.get_mut(at) {
        node.through.push(number);
    }
}

struct Search {
    nodes: Vec<Node>,
    roots: HashMap<usize, usize>,
    lines: Vec<usize>,
    open: Vec<Open>,
    document: usize,
}

impl Search {
    fn event(&mut self, event: &Event<'_>, line: usize) {
        match event {
            Event::Scalar(text, ..) => {
                if let Some(Open::Mapping { key: key @ None, .. }) = self.open.last_mut() {
                    *key = Some((text.to_string(), line));
                    return;
                }
                let is_empty =
                    self.open.is_empty() && matches!(text.as_ref(), "" | "~" | "null" | "Null" | "NULL");
                if !is_empty {
                    self.value(line);
                }
            }
            Event::Alias(_) => {
                self.value(line);
            }
            Event::MappingStart(..) => self.enter(line, |node| Open::Mapping { node, key: None }),
            Event::SequenceStart(..) => self.enter(line, |node| Open::Sequence { node, position: 0 }),
            Event::MappingEnd | Event::SequenceEnd => {
                let closed = self.open.pop();
                if let (Some(Open::Key), Some(Open::Mapping { key, .. })) = (closed, self.open.last_mut()) {
                    *key = Some((String::new(), line));
                }
            }
            _ => {}
        }
    }

    fn enter(&mut self, line: usize, open: impl Fn(Option<usize>) -> Open) {
        let is_key = matches!(self.open.last(), Some(Open::Mapping { key: None, .. } | Open::Key));
        let opened = if is_key { Open::Key } else { open(self.value(line)) };
        self.open.push(opened);
    }

    /// Notes the line of a value, and returns what is looked for below it.
    fn value(&mut self, line: usize) -> Option<usize> {
        let (node, line) = match self.open.last_mut() {
            None => {
                self.document += 1;
                (self.roots.get(&self.document).copied(), line)
            }
            Some(Open::Mapping { node, key }) => {
                let (name, line) = key.take()?;
                ((*node).and_then(|node| self.nodes.get(node)?.below.get(&name).copied()), line)
            }
            Some(Open::Sequence { node, position }) => {
                let name = position.to_string();
                *position += 1;
                ((*node).and_then(|node| self.nodes.get(node)?.below.get(&name).copied()), line)
            }
            Some(Open::Key) => return None,
        };
        for number in self.nodes.get(node?).map(|node| node.through.as_slice()).unwrap_or_default() {
            if let Some(found) = self.lines.get_mut(*number) {
                *found = line;
            }
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_at_its_line_and_a_missing_one_at_its_parent() {
        let text = "# a comment\nkind: A\n---\n---\nkind: B\nspec:\n  ports:\n  - port: 1\n  - port: 2\n    name: web\n  {\"x\": 1}: y\n  last: z\n";
        let text = text.replace("  {\"x\": 1}: y\n", "  ? {x: 1}\n  : y\n");
        let wanted = |document, path: &str| Wanted {
            document,
            tokens: path.split('/').filter(|token| !token.is_empty()).map(String::from).collect(),
        };
        let cases = [
            (wanted(1, "kind"), 2),
            (wanted(2, "kind"), 5),
            (wanted(2, "spec/ports/1/port"), 9),
            (wanted(2, "spec/ports/1/name"), 10),
            (wanted(2, "spec/ports/1/missing"), 9),
            (wanted(2, "spec/missing/deeper"), 6),
            (wanted(2, "spec/last"), 13),
            (wanted(3, "kind"), 0),
        ];
        let (fields, lines): (Vec<Wanted>, Vec<usize>) = cases.into_iter().unzip();
        assert_eq!(find(&text, &fields), lines);
        let json = "{\"spec\": {\n  \"replicas\": 3\n}}";
        assert_eq!(find(json, &[wanted(1, "spec/replicas")]), [2]);
    }
}
