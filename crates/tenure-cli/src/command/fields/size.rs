//! `tenure fields size`: the size of managed fields, per object and in total, and in each compact form.

use super::input::records;
use crate::{
    Error, Outcome,
    connection::Connection,
    document::{self, Document},
    terminal::{Format, Ink, Terminal, shortened},
};
use clap::Args;
use std::{fmt::Write, path::PathBuf};
use tenure_fields::{
    FieldSet,
    compact::{Encoding, ManagerRecord, encode_object},
};
use tenure_value::{Value, json};

/// Show the size of managed fields, and what compact forms would save.
#[derive(Args)]
#[command(after_help = "\
Sizes are bytes of JSON without whitespace; the binary form is what the store keeps. The items of a list are counted
separately, so a whole cluster can be piped in.

Examples:
  tenure fields size deployment.yaml
  tenure fields size --live --top 10
  kubectl get all -A -o json --show-managed-fields | tenure fields size - --top 10")]
pub struct Options {
    /// The files with objects, or - for standard input.
    #[arg(default_value = "-")]
    files: Vec<PathBuf>,
    /// Measure every object of the server.
    #[arg(long, conflicts_with = "files")]
    live: bool,
    /// Show only the objects with the largest managed fields; the totals include all.
    #[arg(long, value_name = "COUNT")]
    top: Option<usize>,
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    connection: Connection,
}

/// The sizes of one object, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sizes {
    object: usize,
    managers: usize,
    fields_v1: usize,
    nested_lists: usize,
    string_table: usize,
    binary: usize,
}

impl Sizes {
    fn of(value: &Value) -> Result<Sizes, String> {
        let Some(entries) = value.at(["metadata", "managedFields"]) else {
            return Ok(Sizes { object: json::to_vec(value).len(), ..Sizes::default() });
        };
        let records = records(entries)?;
        let message = |error: tenure_fields::Error| error.to_string();
        let managed = json::to_vec(entries).len();
        // Everything in an entry except its fields has the same size in the text forms.
        let total = |form: Encoding| -> Result<usize, String> {
            let sets = records.iter().filter_map(|record| record.fields.as_ref());
            let sizes = sets
                .map(|set: &FieldSet| Ok((Encoding::FieldsV1.encode(set)?.len(), form.encode(set)?.len())));
            let sizes = sizes.collect::<Result<Vec<_>, _>>().map_err(message)?;
            Ok(sizes.into_iter().fold(managed, |sum, (before, after)| sum.saturating_sub(before) + after))
        };
        Ok(Sizes {
            object: json::to_vec(value).len(),
            managers: records.len(),
            fields_v1: managed,
            nested_lists: total(Encoding::NestedLists)?,
            string_table: total(Encoding::StringTable)?,
            binary: binary(&records)?,
        })
    }

    fn add(&mut self, other: &Sizes) {
        self.object += other.object;
        self.managers += other.managers;
        self.fields_v1 += other.fields_v1;
        self.nested_lists += other.nested_lists;
        self.string_table += other.string_table;
        self.binary += other.binary;
    }

    fn to_value(&self, name: Option<&str>) -> Value {
        let number = |number: usize| Value::from(number as u64);
        let sizes = [
            ("object", self.object),
            ("managers", self.managers),
            ("managedFields", self.fields_v1),
            ("nestedLists", self.nested_lists),
            ("stringTable", self.string_table),
            ("binary", self.binary),
        ];
        let sizes = sizes.map(|(name, size)| (name, number(size)));
        Value::object(sizes.into_iter().chain(name.map(|name| ("name", Value::from(name)))))
    }
}

fn binary(records: &[ManagerRecord]) -> Result<usize, String> {
    if records.is_empty() {
        return Ok(0);
    }
    encode_object(records).map(|bytes| bytes.len()).map_err(|error| error.to_string())
}

/// Prints the sizes.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let mut sizes = Vec::new();
    for document in documents(&options)? {
        let measured =
            Sizes::of(&document.value).map_err(|problem| Error::document(&document.place, problem))?;
        sizes.push((name(&document), measured));
    }
    let mut sum = Sizes::default();
    sizes.iter().for_each(|(_, size)| sum.add(size));
    let count = sizes.len();
    if let Some(top) = options.top {
        sizes.sort_by(|(a, one), (b, other)| other.fields_v1.cmp(&one.fields_v1).then_with(|| a.cmp(b)));
        sizes.truncate(top);
    }
    match options.output {
        Format::Text => terminal.print(render(&sizes, &sum, count, terminal))?,
        format => {
            let objects = Value::array(sizes.iter().map(|(name, size)| size.to_value(Some(name))));
            terminal
                .print_value(&Value::object([("objects", objects), ("sum", sum.to_value(None))]), format)?;
        }
    }
    Ok(Outcome::Done)
}

fn documents(options: &Options) -> Result<Vec<Document>, Error> {
    if options.live {
        return options
            .connection
            .run(async |cluster| Ok(cluster.all_objects().await?.iter().map(Document::from).collect()));
    }
    let mut documents = Vec::new();
    for file in &options.files {
        documents.extend(document::read(file)?);
    }
    Ok(documents)
}

fn name(document: &Document) -> String {
    let text =
        |path: &[&str]| document.value.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default();
    let (kind, namespace, name) =
        (text(&["kind"]), text(&["metadata", "namespace"]), text(&["metadata", "name"]));
    let name = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
    if kind.is_empty() { name } else { format!("{kind} {name}") }
}

/// The columns after the name, with their widths.
const COLUMNS: [(&str, usize); 5] =
    [("object", 9), ("managed", 9), ("nested", 9), ("table", 9), ("binary", 9)];

fn render(sizes: &[(String, Sizes)], sum: &Sizes, count: usize, terminal: &Terminal) -> String {
    let paint = terminal.paint;
    let columns: usize = COLUMNS.iter().map(|(_, width)| width).sum();
    let longest = sizes.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let widest = longest.max(12).min(terminal.width.saturating_sub(columns).max(12));
    let mut out = String::new();
    let heads: String = COLUMNS.iter().map(|(head, width)| format!("{head:>width$}")).collect();
    let _ = writeln!(out, "{}", paint.ink(Ink::Strong, format_args!("{:widest$}{heads}", "bytes of")));
    let mut row = |name: &str, total: &Sizes| {
        let cells = [total.object, total.fields_v1, total.nested_lists, total.string_table, total.binary];
        let cells: String = cells
            .iter()
            .zip(COLUMNS)
            .map(|(size, (_, width))| format!("{:>width$}", grouped(*size)))
            .collect();
        let _ = writeln!(out, "{:widest$}{cells}", shortened(name, widest));
    };
    sizes.iter().for_each(|(name, size)| row(name, size));
    if count > 1 {
        row(&format!("{count} objects"), sum);
    }
    let saved = sum.fields_v1.saturating_sub(sum.binary);
    let _ = writeln!(
        out,
        "managed fields are {} of the objects; in binary form they would be {}, {} bytes less",
        share(sum.fields_v1, sum.object),
        share(sum.binary, sum.object.saturating_sub(saved)),
        paint.ink(Ink::Added, grouped(saved))
    );
    out
}

fn share(part: usize, whole: usize) -> String {
    let tenths = (part * 1000).checked_div(whole).unwrap_or_default();
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// Returns a number with separators between thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_shares_read_well() {
        assert_eq!(
            [grouped(0), grouped(999), grouped(1000), grouped(1_234_567)],
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!([share(1, 3), share(0, 0), share(5, 5)], ["33.3 %", "0.0 %", "100.0 %"]);
    }

    #[test]
    fn every_form_is_smaller_than_the_one_before() {
        let text = r#"{"kind":"Deployment","metadata":{"name":"a","managedFields":[{"apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{}}}}}}},"manager":"kubectl","operation":"Apply"}]}}"#;
        let sizes = Sizes::of(&text.parse().unwrap()).unwrap();
        assert_eq!((sizes.object, sizes.managers), (text.len(), 1));
        assert!(sizes.fields_v1 > sizes.nested_lists && sizes.nested_lists > sizes.string_table);
        assert!(sizes.string_table > sizes.binary && sizes.binary > 0);
    }
}
