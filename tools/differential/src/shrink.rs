//! Shrinking: requests, then fields of bodies, are removed as long as the servers still differ in the same way.

use crate::{Client, ClientError, Conversation, Difference, run};
use tenure_value::Value;

/// Returns the smallest conversation found that shows the same kind of difference, and the difference in it. At most this many smaller
/// ones are tried.
pub fn shrink(
    conversation: Conversation,
    difference: Difference,
    server: &Client,
    reference: &Client,
    tries: usize,
) -> Result<(Conversation, Difference), ClientError> {
    let mut shrinking = Shrinking { conversation, difference, server, reference, tries };
    if let Some(step) = shrinking.difference.step {
        // Requests after the difference do not matter.
        shrinking.conversation.steps.truncate(step + 1);
    }
    while shrinking.without_steps()? || shrinking.without_fields()? {}
    Ok((shrinking.conversation, shrinking.difference))
}

struct Shrinking<'c> {
    conversation: Conversation,
    difference: Difference,
    server: &'c Client,
    reference: &'c Client,
    tries: usize,
}

impl Shrinking<'_> {
    /// Keeps a smaller conversation if it differs in the same way.
    fn accept(&mut self, smaller: Conversation) -> Result<bool, ClientError> {
        if self.tries == 0 {
            return Ok(false);
        }
        self.tries -= 1;
        let found = run(&smaller, self.server, self.reference)?;
        let Some(found) = found.filter(|found| found.is_like(&self.difference)) else { return Ok(false) };
        (self.conversation, self.difference) = (smaller, found);
        Ok(true)
    }

    fn without_steps(&mut self) -> Result<bool, ClientError> {
        let mut shrunk = false;
        let mut at = self.conversation.steps.len();
        while at > 0 {
            at -= 1;
            let mut smaller = self.conversation.clone();
            if at < smaller.steps.len() {
                smaller.steps.remove(at);
                shrunk |= self.accept(smaller)?;
            }
        }
        Ok(shrunk)
    }

    fn without_fields(&mut self) -> Result<bool, ClientError> {
        let mut shrunk = false;
        for at in 0..self.conversation.steps.len() {
            let mut number = 0;
            while let Some(body) = without_part(&self.conversation.steps[at].body, &mut number.clone()) {
                let mut smaller = self.conversation.clone();
                smaller.steps[at].body = body;
                // After a removal, the next part has the same number.
                match self.accept(smaller)? {
                    true => shrunk = true,
                    false => number += 1,
                }
                if self.tries == 0 {
                    return Ok(false);
                }
            }
        }
        Ok(shrunk)
    }
}

/// Returns a document without its part of a number, counted from the outside in; `None` if it has fewer parts.
fn without_part(value: &Value, number: &mut usize) -> Option<Value> {
    match value {
        Value::Object(fields) => {
            if *number < fields.len() {
                let (name, _) = fields.iter().nth(*number)?;
                return Some(Value::Object(fields.without(name)));
            }
            *number -= fields.len();
            let changed = fields.iter().find_map(|(name, value)| Some((name, without_part(value, number)?)));
            changed.map(|(name, value)| Value::Object(fields.with(name.clone(), value)))
        }
        Value::Array(items) => {
            if *number < items.len() {
                let kept =
                    items.iter().enumerate().filter(|(at, _)| at != number).map(|(_, item)| item.clone());
                return Some(Value::array(kept.collect::<Vec<_>>()));
            }
            *number -= items.len();
            let changed =
                items.iter().enumerate().find_map(|(at, item)| Some((at, without_part(item, number)?)));
            changed.map(|(at, value)| {
                let mut items = items.items().to_vec();
                items[at] = value;
                Value::array(items)
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_document_can_be_left_out() {
        let document: Value = r#"{"a":[1,{"b":2}],"c":3}"#.parse().unwrap();
        let without: Vec<String> = (0..)
            .map_while(|number| without_part(&document, &mut { number }))
            .map(|line| line.to_string())
            .collect();
        assert_eq!(
            without,
            [
                r#"{"c":3}"#,
                r#"{"a":[1,{"b":2}]}"#,
                r#"{"a":[{"b":2}],"c":3}"#,
                r#"{"a":[1],"c":3}"#,
                r#"{"a":[1,{}],"c":3}"#
            ]
        );
    }
}
