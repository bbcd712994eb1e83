//! The messages, compiled from the data when first needed. A message of the wire and an object of JSON are not the
//! same shape: fields of an embedded message stand among those of the object around it. So an object type has
//! numbered slots, one per JSON name in order, and a layout says which slot each field of the wire fills.

use std::{collections::HashMap, sync::LazyLock};
use tenure_value::{Text, Value};

/// How a field is present on the wire and in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// Always on the wire; left out of JSON when zero.
    Quiet,
    /// Always on the wire; in JSON even when zero.
    Shown,
    /// On the wire and in JSON if it is set, even to zero.
    Optional,
    /// `null` in JSON when absent.
    Null,
}

/// How often a field's value occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    One,
    List,
    Map,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Bytes,
    Bool,
    Int32,
    Int64,
    Double,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    /// A message whose one field is JSON text.
    Json,
    /// A message whose one field is a list of strings.
    Strings,
    SchemaOrArray(MessageId),
    SchemaOrBool(MessageId),
    SchemaOrStrings(MessageId),
    Message(MessageId),
}

/// The words of the data for forms other than messages.
const FORMS: [(&str, Form); 12] = [
    ("string", Form::Text),
    ("bytes", Form::Bytes),
    ("bool", Form::Bool),
    ("int32", Form::Int32),
    ("int64", Form::Int64),
    ("double", Form::Double),
    ("time", Form::Time),
    ("microtime", Form::MicroTime),
    ("quantity", Form::Quantity),
    ("intorstring", Form::IntOrString),
    ("json", Form::Json),
    ("strings", Form::Strings),
];
/// The message of the schemas that a JSON schema contains.
const SCHEMA: &str = "apiextensions.v1.JSONSchemaProps";

/// The number of a message in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessageId(u32);

/// A field of the wire that is a field of JSON.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub slot: usize,
    pub presence: Presence,
    pub shape: Shape,
    pub form: Form,
}

/// What a field of the wire is.
#[derive(Debug)]
pub(super) enum Place {
    Field(Field),
    /// A message whose fields are among those of the object around.
    Embedded(Layout),
}

/// The fields of a message in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Layout(pub Box<[(u32, Place)]>);

impl Layout {
    /// Finds a field by its number; `near` is where the last one was found, since fields come in order.
    pub fn find(&self, number: u32, near: &mut usize) -> Option<&Place> {
        for at in [*near, *near + 1] {
            if self.0.get(at).is_some_and(|(of, _)| *of == number) {
                *near = at;
                return self.0.get(at).map(|(_, place)| place);
            }
        }
        *near = self.0.binary_search_by_key(&number, |(of, _)| *of).ok()?;
        self.0.get(*near).map(|(_, place)| place)
    }
}

/// A message and the object it stands for.
#[derive(Debug, Default)]
pub(super) struct Message {
    /// The names of the object's fields in order; a slot is a position here.
    pub names: Box<[Text]>,
    /// The slots that are `null` when absent.
    pub nulls: Box<[usize]>,
    pub layout: Layout,
}

/// All messages.
#[derive(Debug, Default)]
pub(super) struct Table {
    messages: Vec<Message>,
    kinds: HashMap<Text, MessageId>,
}

impl Table {
    /// Returns the messages of the built-in kinds.
    pub fn builtin() -> &'static Table {
        static BUILTIN: LazyLock<Table> = LazyLock::new(|| {
            let document: Option<Value> = include_str!("../../data/protobuf.json").parse().ok();
            // Data that does not compile is a fault of the build, which the tests see.
            document.as_ref().and_then(Table::compile).unwrap_or_default()
        });
        &BUILTIN
    }

    /// Finds the message of a kind; options are the same in every version, and what names none is of the first.
    pub fn kind(&self, api_version: &str, kind: &str) -> Option<(MessageId, &Message)> {
        let api_version = if api_version.is_empty() { "v1" } else { api_version };
        let id = self.kinds.get(format!("{api_version} {kind}").as_str());
        let id = id.or_else(|| self.kinds.get(format!("* {kind}").as_str()))?;
        Some((*id, self.get(*id)?))
    }

    /// Returns a message.
    pub fn get(&self, id: MessageId) -> Option<&Message> {
        self.messages.get(id.0 as usize)
    }

    fn compile(document: &Value) -> Option<Table> {
        let rows = document.get("messages")?.as_object()?;
        let ids: HashMap<&str, MessageId> =
            (0..).map(MessageId).zip(rows.iter()).map(|(id, (name, _))| (name.as_str(), id)).collect();
        let compiler = Compiler { rows: document.get("messages")?, ids: &ids };
        let messages = rows.iter().map(|(name, _)| compiler.message(name)).collect::<Option<_>>()?;
        let kinds = document.get("kinds")?.as_object()?.iter();
        let kinds = kinds.map(|(kind, name)| Some((kind.clone(), *ids.get(name.as_str()?)?)));
        Some(Table { messages, kinds: kinds.collect::<Option<_>>()? })
    }
}

/// One row of the data: `5 ?[]string`.
struct Row<'a> {
    number: u32,
    presence: Option<Presence>,
    shape: Shape,
    word: &'a str,
}

impl<'a> Row<'a> {
    fn parse(text: &'a str) -> Option<Row<'a>> {
        let (number, rest) = text.split_once(' ')?;
        let marks = [
            ("!", Some(Presence::Shown)),
            ("?", Some(Presence::Optional)),
            ("~", Some(Presence::Null)),
            ("&", None),
        ];
        let marked = marks.iter().find_map(|(mark, presence)| Some((*presence, rest.strip_prefix(mark)?)));
        let (presence, rest) = marked.unwrap_or((Some(Presence::Quiet), rest));
        let (shape, word) = match (rest.strip_prefix("[]"), rest.strip_prefix("{}")) {
            (Some(word), _) => (Shape::List, word),
            (_, Some(word)) => (Shape::Map, word),
            _ => (Shape::One, rest),
        };
        Some(Row { number: number.parse().ok()?, presence, shape, word })
    }
}

struct Compiler<'a> {
    rows: &'a Value,
    ids: &'a HashMap<&'a str, MessageId>,
}

impl Compiler<'_> {
    fn message(&self, name: &str) -> Option<Message> {
        let mut names = Vec::new();
        self.names(name, &mut names)?;
        names.sort();
        let layout = self.layout(name, &names)?;
        let mut nulls = Vec::new();
        find_nulls(&layout, &mut nulls);
        Some(Message { names: names.into(), nulls: nulls.into(), layout })
    }

    /// Collects the names of the object that a message stands for.
    fn names(&self, message: &str, names: &mut Vec<Text>) -> Option<()> {
        for (name, text) in self.rows.get(message)?.as_object()?.iter() {
            let row = Row::parse(text.as_str()?)?;
            match row.presence {
                Some(_) => names.push(name.clone()),
                None => self.names(row.word, names)?,
            }
        }
        Some(())
    }

    fn layout(&self, message: &str, names: &[Text]) -> Option<Layout> {
        let mut entries = Vec::new();
        for (name, text) in self.rows.get(message)?.as_object()?.iter() {
            let row = Row::parse(text.as_str()?)?;
            let place = match row.presence {
                Some(presence) => Place::Field(Field {
                    slot: names.binary_search(name).ok()?,
                    presence,
                    shape: row.shape,
                    form: self.form(row.word)?,
                }),
                None => Place::Embedded(self.layout(row.word, names)?),
            };
            entries.push((row.number, place));
        }
        entries.sort_by_key(|(number, _)| *number);
        Some(Layout(entries.into()))
    }

    fn form(&self, word: &str) -> Option<Form> {
        let schema = || self.ids.get(SCHEMA).copied();
        Some(match word {
            "schemaorarray" => Form::SchemaOrArray(schema()?),
            "schemaorbool" => Form::SchemaOrBool(schema()?),
            "schemaorstrings" => Form::SchemaOrStrings(schema()?),
            _ => match FORMS.iter().find(|(of, _)| *of == word) {
                Some((_, form)) => *form,
                None => Form::Message(*self.ids.get(word)?),
            },
        })
    }
}

fn find_nulls(layout: &Layout, nulls: &mut Vec<usize>) {
    for (_, place) in &layout.0 {
        match place {
            Place::Field(field) if field.presence == Presence::Null => nulls.push(field.slot),
            Place::Field(_) => {}
            Place::Embedded(layout) => find_nulls(layout, nulls),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Registry;

    #[test]
    fn every_built_in_kind_has_a_message() {
        let table = Table::builtin();
        assert!(table.messages.len() > 500);
        for of in Registry::builtin().resources() {
            assert!(table.kind(&of.api_version, &of.kind).is_some(), "{} {}", of.api_version, of.kind);
            if of.has_verb("list") {
                let list = format!("{}List", of.kind);
                assert!(table.kind(&of.api_version, &list).is_some(), "{} {list}", of.api_version);
            }
        }
        assert!(table.kind("apps/v1", "DeleteOptions").is_some());
        assert!(table.kind("v1", "Status").is_some());
        assert!(table.kind("example.org/v1", "Deployment").is_none());
    }

    #[test]
    fn embedded_fields_stand_among_those_around_them() {
        let (_, message) = Table::builtin().kind("v1", "Pod").unwrap();
        assert_eq!(*message.names, ["metadata", "spec", "status"]);
        let table = Table::builtin();
        let volume = table.messages.iter().find(|of| of.names.contains(&"emptyDir".into())).unwrap();
        assert!(volume.names.is_sorted());
        let embedding = table
            .messages
            .iter()
            .filter(|of| of.layout.0.iter().any(|(_, place)| matches!(place, Place::Embedded(_))));
        assert!(embedding.count() > 10);
    }
}
