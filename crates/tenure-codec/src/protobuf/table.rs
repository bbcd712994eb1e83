//! The table of messages, compiled from data on first use. A message and its JSON object differ in structure:
//! fields of an embedded message are fields of the enclosing object. So an object type has numbered slots,
//! one per JSON name in order, and a layout maps each protobuf field to its slot.

use super::wire::{FIXED64, LENGTH, VARINT};
use std::{
    collections::HashMap,
    sync::{LazyLock, OnceLock},
};
use tenure_value::{Object, Text, Value};

/// When a field is present in protobuf and in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// Always in protobuf; omitted from JSON if zero.
    OmitZero,
    /// Always in protobuf and in JSON.
    ShowZero,
    /// In protobuf and in JSON if it is set, even to zero.
    Optional,
    /// `null` in JSON if absent.
    Null,
}

/// The cardinality of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cardinality {
    One,
    List,
    Map,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldType {
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
    /// A message whose only field is JSON text.
    Json,
    /// The same for the fields of managers, which are bytes in the compact form and base64 in JSON.
    Fields,
    /// A message whose only field is a list of strings.
    Strings,
    SchemaOrArray(MessageId),
    SchemaOrBool(MessageId),
    SchemaOrStrings(MessageId),
    Message(MessageId),
}

impl FieldType {
    /// Returns the wire type of a value.
    pub fn wire_type(self) -> u8 {
        match self {
            FieldType::Bool | FieldType::Int32 | FieldType::Int64 => VARINT,
            FieldType::Double => FIXED64,
            _ => LENGTH,
        }
    }
}

/// The names of types in the data, except for messages.
const FIELD_TYPES: [(&str, FieldType); 13] = [
    ("string", FieldType::Text),
    ("bytes", FieldType::Bytes),
    ("bool", FieldType::Bool),
    ("int32", FieldType::Int32),
    ("int64", FieldType::Int64),
    ("double", FieldType::Double),
    ("time", FieldType::Time),
    ("microtime", FieldType::MicroTime),
    ("quantity", FieldType::Quantity),
    ("intorstring", FieldType::IntOrString),
    ("json", FieldType::Json),
    ("fields", FieldType::Fields),
    ("strings", FieldType::Strings),
];
/// The message of the schemas in a JSON schema.
const SCHEMA: &str = "apiextensions.v1.JSONSchemaProps";
/// The message of an object's metadata.
const METADATA: &str = "meta.v1.ObjectMeta";

/// The index of a message in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessageId(u32);

impl MessageId {
    /// Returns the position of the message in the table.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A protobuf field that is a field of the JSON object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub slot: u8,
    pub presence: Presence,
    pub shape: Cardinality,
    pub field_type: FieldType,
}

impl Field {
    /// Whether the field is encoded even without a value.
    pub fn is_always_written(&self) -> bool {
        match (self.shape, self.presence) {
            (Cardinality::List | Cardinality::Map, _) | (_, Presence::Optional) => false,
            (_, Presence::OmitZero | Presence::ShowZero) => self.field_type != FieldType::Bytes,
            // These are never nil in Go, only empty.
            (_, Presence::Null) => {
                matches!(
                    self.field_type,
                    FieldType::Time | FieldType::MicroTime | FieldType::Json | FieldType::Fields
                )
            }
        }
    }
}

/// The meaning of a protobuf field.
#[derive(Clone, Copy, Debug)]
pub(super) enum WireField {
    Field(Field),
    /// A message whose fields are fields of the enclosing object: the index of its layout.
    Embedded(u8),
}

/// The fields of a message, or of one embedded in it. The bit of a field is its position among all fields of
/// the message.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// The bits of the fields, in the order of their numbers.
    pub bits: u64,
    /// The same, including fields of embedded messages.
    pub within: u64,
    /// By number, the bit of the field plus one; 0 if there is none.
    by_number: Box<[u8]>,
}

impl Layout {
    /// Finds the bit of a field by its number.
    #[inline]
    pub fn find(&self, number: u32) -> Option<usize> {
        usize::from(*self.by_number.get(number as usize)?).checked_sub(1)
    }
}

/// A message and its JSON object.
#[derive(Debug, Default)]
pub(super) struct Message {
    /// The names of the object's fields in order; a slot is an index into it.
    pub names: Box<[Text]>,
    /// The slots that are `null` if absent, as bits.
    pub nulls: u64,
    /// The numbers and meanings of all fields, by their bits.
    pub places: Box<[(u32, WireField)]>,
    /// The layout of the message, and those of the messages embedded in it.
    pub layouts: Box<[Layout]>,
    /// Bits by name: an open-addressing hash table, with [`Message::ABSENT`] in empty slots.
    by_name: Box<[(u8, u8)]>,
    /// The encoded zero values of the fields, computed on first use.
    zeros: OnceLock<Zeros>,
}

/// The encoded zero values of the fields that are always present.
#[derive(Debug, Default)]
pub(super) struct Zeros {
    /// By the bits of the fields.
    fields: Box<[Vec<u8>]>,
    whole: Vec<u8>,
}

impl Zeros {
    fn new(message: &Message, zero: fn(&Message, usize) -> Vec<u8>) -> Zeros {
        let fields: Box<[_]> = (0..message.places.len()).map(|bit| zero(message, bit)).collect();
        // The fields of the message itself come first.
        let own = message.layouts.first().map_or(0, |layout| layout.bits.trailing_ones() as usize);
        let whole = fields.iter().take(own).flatten().copied().collect();
        Zeros { fields, whole }
    }

    /// Returns the bytes of a field.
    pub fn of(&self, bit: usize) -> &[u8] {
        self.fields.get(bit).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the bytes of a message without any value.
    pub fn whole(&self) -> &[u8] {
        &self.whole
    }
}

impl Message {
    const ABSENT: u8 = u8::MAX;

    /// Finds the bit of a field by its JSON name.
    #[inline]
    pub fn find(&self, name: &Text) -> Option<usize> {
        let last = self.by_name.len().checked_sub(1)?;
        let mut at = place_of(name) & last;
        loop {
            let (slot, bit) = *self.by_name.get(at)?;
            if slot == Self::ABSENT {
                return None;
            }
            if self.names.get(usize::from(slot)) == Some(name) {
                return Some(usize::from(bit));
            }
            at = (at + 1) & last;
        }
    }

    /// Returns the encoded zero values; `zero` encodes one field.
    #[inline]
    pub fn zeros(&self, zero: fn(&Message, usize) -> Vec<u8>) -> &Zeros {
        self.zeros.get_or_init(|| Zeros::new(self, zero))
    }

    /// Returns the field of a slot.
    pub fn field(&self, slot: u8) -> Option<&Field> {
        self.places.iter().find_map(|(_, place)| match place {
            WireField::Field(field) if field.slot == slot => Some(field),
            _ => None,
        })
    }

    fn index_names(&mut self) {
        // Half of the slots stay empty, so that lookups of absent names end soon.
        let mut by_name = vec![(Self::ABSENT, 0); (2 * self.names.len() + 1).next_power_of_two()];
        for (bit, (_, place)) in (0..).zip(&self.places) {
            let WireField::Field(field) = place else { continue };
            let Some(name) = self.names.get(usize::from(field.slot)) else { continue };
            let mut at = place_of(name) & (by_name.len() - 1);
            while by_name.get(at).is_some_and(|(slot, _)| *slot != Self::ABSENT) {
                at = (at + 1) & (by_name.len() - 1);
            }
            if let Some(free) = by_name.get_mut(at) {
                *free = (field.slot, bit);
            }
        }
        self.by_name = by_name.into();
    }
}

/// Returns the first slot for a name: three letters and the length distinguish most names.
#[inline]
fn place_of(name: &str) -> usize {
    let bytes = name.as_bytes();
    let letter = |at: usize| bytes.get(at).map_or(0, |byte| u32::from(*byte));
    let (middle, last) = (bytes.len() / 2, bytes.len().saturating_sub(1));
    let mixed = bytes.len() as u32 | letter(0) << 8 | letter(middle) << 16 | letter(last) << 24;
    (mixed.wrapping_mul(0x9E37_79B1) >> 20) as usize
}

/// All messages.
#[derive(Debug, Default)]
pub(super) struct Table {
    messages: Vec<Message>,
    /// The messages of each kind, by version.
    kinds: HashMap<Text, Vec<(Text, MessageId)>>,
    /// The message of an object's metadata.
    pub metadata: Option<MessageId>,
}

impl Table {
    /// Returns the messages of the built-in kinds.
    ///
    /// # Panics
    ///
    /// If the data file of this crate is invalid, which a test excludes.
    pub fn builtin() -> &'static Table {
        static BUILTIN: LazyLock<Table> = LazyLock::new(|| {
            let document: Result<Value, _> = include_str!("../../data/protobuf.json").parse();
            let table = document.map_err(|error| error.to_string()).and_then(|it| Table::compile(&it));
            table.unwrap_or_else(|reason| panic!("data/protobuf.json: {reason}"))
        });
        &BUILTIN
    }

    /// Finds the message of a kind. Options are the same in every version; without a version the first one is
    /// used.
    pub fn kind(&self, api_version: &str, kind: &str) -> Option<(MessageId, &Message)> {
        let api_version = if api_version.is_empty() { "v1" } else { api_version };
        let versions = self.kinds.get(kind)?;
        let schema_of = |version: &str| versions.iter().find(|(known, _)| known == version);
        let (_, id) = schema_of(api_version).or_else(|| schema_of("*"))?;
        Some((*id, self.get(*id)?))
    }

    /// Returns a message.
    pub fn get(&self, id: MessageId) -> Option<&Message> {
        self.messages.get(id.0 as usize)
    }

    fn compile(document: &Value) -> Result<Table, String> {
        let object = |name: &str| {
            let found = document.get(name).and_then(Value::as_object);
            found.ok_or_else(|| format!("{name} must be an object"))
        };
        let rows = object("messages")?;
        let ids: HashMap<&str, MessageId> =
            (0..).map(MessageId).zip(rows.iter()).map(|(id, (name, _))| (name.as_str(), id)).collect();
        let compiler = Compiler { rows, ids: &ids };
        let message = |(name, _): &(Text, Value)| {
            compiler.message(name).map_err(|reason| format!("messages: {name}: {reason}"))
        };
        let messages = rows.fields().iter().map(message).collect::<Result<_, _>>()?;
        let mut kinds: HashMap<Text, Vec<_>> = HashMap::new();
        for (versioned_kind, name) in object("kinds")? {
            let (api_version, kind) = versioned_kind
                .split_once(' ')
                .ok_or_else(|| format!("kinds: {versioned_kind:?} must be an API version and a kind"))?;
            let id = name.as_str().and_then(|name| ids.get(name));
            let id = id.ok_or_else(|| format!("kinds: {versioned_kind}: unknown message {name}"))?;
            kinds.entry(kind.into()).or_default().push((api_version.into(), *id));
        }
        Ok(Table { messages, kinds, metadata: ids.get(METADATA).copied() })
    }
}

/// One row of the data: `5 ?[]string`.
struct Row<'a> {
    number: u32,
    presence: Option<Presence>,
    shape: Cardinality,
    word: &'a str,
}

impl<'a> Row<'a> {
    fn parse(value: &'a Value) -> Result<Row<'a>, String> {
        let wrong = || format!("a field must be a number and a type, got {value}");
        let (number, rest) = value.as_str().and_then(|text| text.split_once(' ')).ok_or_else(wrong)?;
        let marks = [
            ("!", Some(Presence::ShowZero)),
            ("?", Some(Presence::Optional)),
            ("~", Some(Presence::Null)),
            ("&", None),
        ];
        let marked = marks.iter().find_map(|(mark, presence)| Some((*presence, rest.strip_prefix(mark)?)));
        let (presence, rest) = marked.unwrap_or((Some(Presence::OmitZero), rest));
        let (shape, word) = match (rest.strip_prefix("[]"), rest.strip_prefix("{}")) {
            (Some(word), _) => (Cardinality::List, word),
            (_, Some(word)) => (Cardinality::Map, word),
            _ => (Cardinality::One, rest),
        };
        Ok(Row { number: number.parse().map_err(|_| wrong())?, presence, shape, word })
    }
}

struct Compiler<'a> {
    rows: &'a Object,
    ids: &'a HashMap<&'a str, MessageId>,
}

impl Compiler<'_> {
    /// Returns the fields of a message with their names.
    fn fields(&self, message: &str) -> Result<Vec<(&Text, Row<'_>)>, String> {
        let fields = self.rows.get(message).and_then(Value::as_object);
        let fields = fields.ok_or_else(|| format!("unknown message {message:?}"))?;
        let row =
            |(name, value)| Row::parse(value).map(|row| (name, row)).map_err(|why| format!("{name}: {why}"));
        fields.iter().map(row).collect()
    }

    fn message(&self, name: &str) -> Result<Message, String> {
        let mut names = Vec::new();
        self.names(name, &mut names)?;
        names.sort();
        let mut message = Message { names: names.into(), ..Message::default() };
        let (mut places, mut layouts) = (Vec::new(), Vec::new());
        self.layout(name, &message.names, &mut places, &mut layouts)?;
        // Bits are stored in words of 64.
        if places.len() > 64 {
            return Err(format!("it has {} fields; at most 64 are supported", places.len()));
        }
        for (_, place) in &places {
            if let WireField::Field(Field { presence: Presence::Null, slot, .. }) = place {
                message.nulls |= 1 << slot;
            }
        }
        (message.places, message.layouts) = (places.into(), layouts.into());
        message.index_names();
        Ok(message)
    }

    /// Collects the field names of the JSON object of a message.
    fn names(&self, message: &str, names: &mut Vec<Text>) -> Result<(), String> {
        for (name, row) in self.fields(message)? {
            match row.presence {
                Some(_) => names.push(lasting(name)),
                None => self.names(row.word, names)?,
            }
        }
        Ok(())
    }

    /// Adds the layout of a message and those of its embedded messages, and returns its index.
    fn layout(
        &self,
        message: &str,
        names: &[Text],
        places: &mut Vec<(u32, WireField)>,
        layouts: &mut Vec<Layout>,
    ) -> Result<u8, String> {
        let many = || format!("{message} has too many fields or too large numbers");
        let mut rows = self.fields(message)?;
        rows.sort_by_key(|(_, row)| row.number);
        let (which, first) = (layouts.len(), places.len());
        layouts.push(Layout::default());
        // The fields of a message are contiguous; those of embedded messages follow.
        places.extend(rows.iter().map(|(_, row)| (row.number, WireField::Embedded(0))));
        let mut layout = Layout::default();
        let mut by_number = vec![0; rows.last().map_or(0, |(_, row)| row.number as usize + 1)];
        for (bit, (name, row)) in (first..).zip(&rows) {
            let place = match row.presence {
                Some(presence) => WireField::Field(Field {
                    slot: names
                        .binary_search(name)
                        .ok()
                        .and_then(|at| u8::try_from(at).ok())
                        .ok_or_else(many)?,
                    presence,
                    shape: row.shape,
                    field_type: self.field_type(row.word)?,
                }),
                None => WireField::Embedded(self.layout(row.word, names, places, layouts)?),
            };
            let word = u32::try_from(bit).ok().and_then(|bit| 1u64.checked_shl(bit)).ok_or_else(many)?;
            layout.bits |= word;
            layout.within |= word;
            if let WireField::Embedded(inner) = place {
                layout.within |= layouts.get(usize::from(inner)).ok_or_else(many)?.within;
            }
            *by_number.get_mut(row.number as usize).ok_or_else(many)? =
                u8::try_from(bit + 1).map_err(|_| many())?;
            *places.get_mut(bit).ok_or_else(many)? = (row.number, place);
        }
        layout.by_number = by_number.into();
        *layouts.get_mut(which).ok_or_else(many)? = layout;
        u8::try_from(which).map_err(|_| many())
    }

    fn field_type(&self, word: &str) -> Result<FieldType, String> {
        let message = |name: &str| {
            self.ids.get(name).copied().ok_or_else(|| format!("unknown type or message {name:?}"))
        };
        Ok(match word {
            "schemaorarray" => FieldType::SchemaOrArray(message(SCHEMA)?),
            "schemaorbool" => FieldType::SchemaOrBool(message(SCHEMA)?),
            "schemaorstrings" => FieldType::SchemaOrStrings(message(SCHEMA)?),
            _ => match FIELD_TYPES.iter().find(|(known, _)| *known == word) {
                Some((_, field_type)) => *field_type,
                None => FieldType::Message(message(word)?),
            },
        })
    }
}

/// Leaks a name, which lives as long as the table: clones of it need no reference count.
fn lasting(name: &str) -> Text {
    if name.len() <= Text::INLINE_CAP {
        Text::new_inline(name)
    } else {
        Text::new_static(Box::leak(name.to_owned().into_boxed_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_profile::KubernetesVersion;

    #[test]
    fn an_invalid_row_is_an_error_with_its_name() {
        for (document, reason) in [
            (r#"{}"#, "messages must be an object"),
            (
                r#"{"messages":{"a.v1.B":{"c":"x string"}},"kinds":{}}"#,
                "messages: a.v1.B: c: a field must be a number",
            ),
            (r#"{"messages":{"a.v1.B":{"c":"1 strnig"}},"kinds":{}}"#, "unknown type or message \"strnig\""),
            (r#"{"messages":{"a.v1.B":{"c":"1 &a.v1.C"}},"kinds":{}}"#, "unknown message \"a.v1.C\""),
            (r#"{"messages":{},"kinds":{"v1 B":"a.v1.B"}}"#, "kinds: v1 B: unknown message \"a.v1.B\""),
        ] {
            let error = Table::compile(&document.parse().unwrap()).unwrap_err();
            assert!(error.contains(reason), "{document}: {error}");
        }
    }

    #[test]
    fn every_built_in_kind_has_a_message() {
        let table = Table::builtin();
        assert!(table.messages.len() > 500);
        let registries = KubernetesVersion::ALL.into_iter().map(tenure_builtin::registry_at);
        for resource in registries.flat_map(|registry| registry.resources()) {
            assert!(
                table.kind(&resource.api_version, &resource.kind).is_some(),
                "{} {}",
                resource.api_version,
                resource.kind
            );
            if resource.has_verb("list") {
                let list = format!("{}List", resource.kind);
                assert!(
                    table.kind(&resource.api_version, &list).is_some(),
                    "{} {list}",
                    resource.api_version
                );
            }
        }
        assert!(table.kind("apps/v1", "DeleteOptions").is_some());
        assert!(table.kind("v1", "Status").is_some());
        assert!(table.kind("example.org/v1", "Deployment").is_none());
    }

    #[test]
    fn embedded_fields_are_fields_of_the_enclosing_object() {
        let (_, message) = Table::builtin().kind("v1", "Pod").unwrap();
        assert_eq!(*message.names, ["metadata", "spec", "status"]);
        let table = Table::builtin();
        let volume =
            table.messages.iter().find(|message| message.names.contains(&"emptyDir".into())).unwrap();
        assert!(volume.names.is_sorted());
        assert!(table.messages.iter().filter(|message| message.layouts.len() > 1).count() > 10);
    }

    #[test]
    fn fields_are_found_by_name_and_number() {
        for message in &Table::builtin().messages {
            for (bit, (number, place)) in message.places.iter().enumerate() {
                let layout = message.layouts.iter().find(|layout| layout.bits >> bit & 1 == 1).unwrap();
                assert_eq!(layout.find(*number), Some(bit));
                if let WireField::Field(field) = place {
                    assert_eq!(message.find(&message.names[usize::from(field.slot)]), Some(bit));
                }
            }
            assert_eq!(message.find(&"absent".into()), None);
            assert_eq!(message.layouts[0].find(0), None);
            assert_eq!(message.layouts[0].find(u32::MAX), None);
        }
    }
}
