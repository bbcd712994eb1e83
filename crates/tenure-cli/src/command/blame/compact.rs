//! A blame for people at a terminal: one header with the managers, their operations and ages; then the lines, each with the names of its
//! owners in a gutter, once for a run of lines with the same owners.

use crate::terminal::{Ink, Paint, Terminal, columns, padded, shortened};
use std::{
    collections::{HashMap, HashSet},
    fmt::Write,
};
use tenure_ownership::{
    Blame, Line, Ownership, Target,
    owner::{Owner, age, operation},
};

/// The bars between gutter and text: of lines with owners, without, and of lines that cannot have any.
const OWNED: &str = "┃";
const UNOWNED: &str = "┊";
const NOT_OWNABLE: &str = "│";

/// Returns a blame as compact text.
pub fn text(target: &Target, blame: &Blame, terminal: &Terminal) -> String {
    let mut identities: HashMap<&str, &Owner> = HashMap::new();
    let mut repeated = HashSet::new();
    for owner in blame.fields.iter().flat_map(|field| &field.owners) {
        let known = identities.entry(owner.name.as_str()).or_insert(owner);
        if known.identity() != owner.identity() {
            repeated.insert(owner.name.as_str());
        }
    }
    let mut gutter = Gutter { blame, terminal, repeated, width: 0 };
    gutter.width = gutter.widest().min((terminal.width / 4).clamp(8, 40));
    let mut out = header(target, blame, terminal);
    let mut previous: Option<&Ownership> = None;
    for line in &blame.lines {
        let is_first = previous != Some(&line.ownership);
        gutter.row(line, is_first, &mut out);
        previous = Some(&line.ownership);
    }
    for (at, (path, owners)) in blame.absent.iter().enumerate() {
        if at == 0 {
            out.push_str("\nOwned, but not in the object:\n");
        }
        let names: Vec<String> = owners.iter().map(|owner| gutter.name(owner)).collect();
        // Writing to a string does not fail.
        let _ = writeln!(out, "  {path}  {}", names.join(", "));
    }
    out
}

fn header(target: &Target, blame: &Blame, terminal: &Terminal) -> String {
    let mut out = format!("{}\n", terminal.paint.ink(Ink::Strong, target));
    let mut owners: Vec<(&Owner, usize)> = Vec::new();
    for owner in blame.fields.iter().flat_map(|field| &field.owners) {
        match owners.iter_mut().find(|(known, _)| *known == owner) {
            Some((_, count)) => *count += 1,
            None => owners.push((owner, 1)),
        }
    }
    let widest = |text: &dyn Fn(&Owner) -> usize| {
        owners.iter().map(|(owner, _)| text(owner)).max().unwrap_or_default()
    };
    let names = widest(&|owner| columns(&owner.name)).min(terminal.width / 2);
    let operations = widest(&|owner| columns(&operation(owner)));
    for (owner, count) in &owners {
        let shown = padded(&shortened(&owner.name, names), names);
        let fields = if *count == 1 { "1 field".to_owned() } else { format!("{count} fields") };
        let _ = writeln!(
            out,
            "  {}  {}  {:>5}  {fields}",
            terminal.paint.ink(ink(owner, blame), shown),
            padded(&operation(owner), operations),
            age(owner.time, terminal.now)
        );
    }
    if blame.lines.iter().any(|line| line.ownership == Ownership::Unowned) {
        let legend = format!("{UNOWNED} without an owner, such as defaults");
        let _ = writeln!(out, "  {}", terminal.paint.ink(Ink::Faint, legend));
    }
    out.push('\n');
    out
}

struct Gutter<'a> {
    blame: &'a Blame,
    terminal: &'a Terminal,
    /// The names that several entries of managers have.
    repeated: HashSet<&'a str>,
    width: usize,
}

impl Gutter<'_> {
    fn widest(&self) -> usize {
        let widths = self.blame.lines.iter().filter_map(|line| match &line.ownership {
            Ownership::Owned(owners) => Some(columns(&self.names(owners))),
            _ => None,
        });
        widths.max().unwrap_or_default()
    }

    fn row(&self, line: &Line, is_first: bool, out: &mut String) {
        let paint = self.terminal.paint;
        let (names, bar, ink) = match &line.ownership {
            Ownership::Owned(owners) => {
                let first = owners.first().map(|owner| ink(owner, self.blame));
                (
                    if is_first { self.names(owners) } else { String::new() },
                    OWNED,
                    first.unwrap_or(Ink::Faint),
                )
            }
            Ownership::Unowned => (String::new(), UNOWNED, Ink::Faint),
            Ownership::NotOwnable => (String::new(), NOT_OWNABLE, Ink::Faint),
        };
        let room = self.terminal.width.saturating_sub(self.width + 3);
        for (at, text) in broken(&line.text, room).into_iter().enumerate() {
            let text = match (&line.ownership, paint) {
                (Ownership::NotOwnable, _) | (_, Paint::Plain) => text,
                _ => paint.ink(ink, text).to_string(),
            };
            let names = if at == 0 { names.as_str() } else { "" };
            let gutter = padded(&shortened(names, self.width), self.width);
            let gutter = if names.is_empty() { gutter } else { paint.ink(ink, gutter).to_string() };
            let _ = writeln!(out, "{gutter} {} {text}", paint.ink(ink, bar));
        }
    }

    /// Returns the names of owners; further ones are counted where there are many.
    fn names(&self, owners: &[Owner]) -> String {
        match owners {
            [] => String::new(),
            [one] => self.name(one),
            [one, other] => format!("{}, {}", self.name(one), self.name(other)),
            [one, others @ ..] => format!("{} +{}", self.name(one), others.len()),
        }
    }

    /// Returns the name of an owner, with the operation where several entries of managers have the same name.
    fn name(&self, owner: &Owner) -> String {
        match self.repeated.contains(owner.name.as_str()) {
            true => format!("{} {}", owner.name, operation(owner)),
            false => owner.name.to_string(),
        }
    }
}

/// Returns a line of YAML in lines that fit, the further ones indented more: broken at a space where that fills half of the line, or
/// where the value fits below its key.
fn broken(text: &str, room: usize) -> Vec<String> {
    let own = text.len() - text.trim_start_matches([' ', '-']).len();
    let indent = own + 4;
    if room < indent + 8 {
        return vec![text.to_owned()];
    }
    let (mut lines, mut rest, mut lead) = (Vec::new(), text, 0);
    while let Some(end) = overflow(rest, room - lead) {
        let is_good = |at: &usize| *at > end / 2 || overflow(&rest[*at..], room - indent).is_none();
        let begin = if lead == 0 { own } else { 0 };
        let space = rest[..end].rfind(' ').map(|at| at + 1).filter(|at| *at > begin).filter(is_good);
        let (line, tail) = rest.split_at(space.unwrap_or(end));
        lines.push(format!("{:lead$}{}", "", line.trim_end()));
        (rest, lead) = (tail, indent);
    }
    lines.push(format!("{:lead$}{rest}", ""));
    lines
}

/// Returns where a text leaves so many columns.
fn overflow(text: &str, room: usize) -> Option<usize> {
    let mut used = 0;
    let is_outside = |(_, character): &(usize, char)| {
        used += columns(character.encode_utf8(&mut [0; 4]));
        used > room
    };
    text.char_indices().find(is_outside).map(|(at, _)| at)
}

fn ink(owner: &Owner, blame: &Blame) -> Ink {
    let number = blame.managers.iter().position(|name| *name == owner.name.as_str());
    Ink::Manager(number.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::broken;

    #[test]
    fn long_values_stay_beside_the_gutter() {
        let lines = |text, room| broken(text, room);
        assert_eq!(lines("  a: b", 20), ["  a: b"]);
        assert_eq!(lines("  terminationPath: /dev/log", 24), ["  terminationPath:", "      /dev/log"]);
        assert_eq!(
            lines("  text: one two three four five", 18),
            ["  text: one two", "      three four", "      five"]
        );
        assert_eq!(
            lines("- hash: 0123456789abcdef0123", 16),
            ["- hash: 01234567", "      89abcdef01", "      23"]
        );
    }
}
