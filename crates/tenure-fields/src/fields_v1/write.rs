//! Formats field sets as JSON. Names are escaped twice, once as JSON within the name and once as the name
//! itself; the two escapings differ, so both are needed.

use super::{Order, element};
use crate::{FieldSet, Node, PathElement, memo::Memo};
use std::ops::Range;
use tenure_value::json::{self, Style};

/// Appends the set as JSON, with members in the order of their names.
pub fn write(set: &FieldSet, out: &mut Vec<u8>) {
    write_in(set, Order::Names, out);
}

/// Appends the set as JSON, with members in the given order.
pub fn write_in(set: &FieldSet, order: Order, out: &mut Vec<u8>) {
    let mut writer = Writer { out, names: Vec::new(), escaped: Vec::new(), recent: Memo::new(), order };
    writer.level(set, false, 0);
}

/// Returns the set as JSON, with members in the order of their names.
pub fn to_vec(set: &FieldSet) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    write(set, &mut out);
    out
}

/// Formats the set as `FieldsV1`.
impl std::fmt::Debug for FieldSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&to_vec(self)))
    }
}

struct Writer<'o, 's> {
    out: &'o mut Vec<u8>,
    /// The texts of elements that are not fields.
    names: Vec<u8>,
    /// A buffer for one escaped name.
    escaped: Vec<u8>,
    /// The output ranges of the levels written last, which are copied for levels that share their memory.
    recent: Memo<&'s Node, Range<usize>>,
    order: Order,
}

impl<'s> Writer<'_, 's> {
    fn level(&mut self, set: &'s FieldSet, included: bool, depth: usize) {
        self.out.push(b'{');
        let mut first = true;
        if included && !set.is_empty() {
            self.out.extend_from_slice(b"\".\":{}");
            first = false;
        }
        let nodes = set.nodes();
        let fields = nodes.iter().take_while(|node| matches!(node.element, PathElement::Field(_))).count();
        let (fields, items) = nodes.split_at(fields);
        for node in fields {
            if let PathElement::Field(name) = &node.element {
                self.separate(&mut first);
                self.name(b'f', name);
                self.below(node, depth);
            }
        }
        if !items.is_empty() {
            self.items(items, first, depth);
        }
        self.out.push(b'}');
    }

    /// Writes the nodes of a level that are not fields.
    fn items(&mut self, items: &'s [Node], mut first: bool, depth: usize) {
        let base = self.names.len();
        let mut ordered = Vec::with_capacity(items.len());
        for node in items {
            let start = self.names.len();
            element::write_inner(&node.element, &mut self.names);
            ordered.push((element::qualifier(&node.element), start..self.names.len(), node));
        }
        if self.order == Order::Names {
            let names = &self.names;
            ordered.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| names[a.1.clone()].cmp(&names[b.1.clone()])));
        }
        for (qualifier, range, node) in ordered {
            self.separate(&mut first);
            let names = std::mem::take(&mut self.names);
            // The printer writes valid UTF-8.
            self.name(qualifier, str::from_utf8(&names[range]).unwrap_or_default());
            self.names = names;
            self.below(node, depth);
        }
        self.names.truncate(base);
    }

    fn separate(&mut self, first: &mut bool) {
        if !std::mem::take(first) {
            self.out.push(b',');
        }
    }

    fn name(&mut self, qualifier: u8, text: &str) {
        if element::is_plain(text) {
            self.out.extend_from_slice(&[b'"', qualifier, b':']);
            self.out.extend_from_slice(text.as_bytes());
            self.out.extend_from_slice(b"\":");
            return;
        }
        self.out.extend_from_slice(&[b'"', qualifier]);
        // The opening quote that comes with the text is replaced by the colon.
        self.escaped.clear();
        json::write_text(text, Style::Kubernetes, &mut self.escaped);
        self.escaped[0] = b':';
        self.out.extend_from_slice(&self.escaped);
        self.out.push(b':');
    }

    fn below(&mut self, node: &'s Node, depth: usize) {
        if node.children.is_empty() {
            return self.out.extend_from_slice(b"{}");
        }
        if !node.children.is_shared() {
            return self.level(&node.children, node.included, depth + 1);
        }
        let same =
            |before: &&Node| before.included == node.included && before.children.ptr_eq(&node.children);
        if let Some((_, range)) = self.recent.find(depth, same) {
            return self.out.extend_from_within(range.clone());
        }
        let start = self.out.len();
        self.level(&node.children, node.included, depth + 1);
        self.recent.keep(depth, node, start..self.out.len());
    }
}
