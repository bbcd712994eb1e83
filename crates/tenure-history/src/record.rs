//! The record of one write: who made it and how, which version it replaced, and the delta that leads back to that version.
//! `docs/history.md` describes the bytes; records that were written must stay readable.

use crate::{
    HistoryError, Values,
    codec::{Decoder, Encoder},
    delta::{self, DeltaWriter},
    error::Problem,
    managers,
    secret::Place,
};
use std::fmt;
use tenure_apply::{Managers, State};
use tenure_fields::compact::Table;
use tenure_value::{Text, Value};

/// The first byte of every record.
const FORMAT: u8 = 1;

/// How an object was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// It was created by a POST, or by an apply of a name that did not exist.
    Create,
    /// It was replaced by a PUT, or the server itself changed it.
    Update,
    /// It was changed by a patch that is not an apply.
    Patch,
    /// It was applied.
    Apply,
    /// It was removed, or marked for removal.
    Delete,
}

impl Verb {
    const ALL: [Verb; 5] = [Verb::Create, Verb::Update, Verb::Patch, Verb::Apply, Verb::Delete];

    /// Returns the verb in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Apply => "apply",
            Verb::Delete => "delete",
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who writes, and how.
#[derive(Clone, Copy, Debug)]
pub struct Author<'a> {
    /// How.
    pub verb: Verb,
    /// The user who made the request.
    pub user: &'a str,
    /// The field manager; empty if the write has none.
    pub manager: &'a str,
    /// The subresource; empty for the object itself.
    pub subresource: &'a str,
}

/// A stored version of an object.
#[derive(Clone, Copy, Debug)]
pub struct Version<'a> {
    /// The object, without `managedFields` and `resourceVersion`.
    pub object: &'a Value,
    /// Its managers.
    pub managers: &'a Managers,
    /// The revision that stored it; irrelevant for the newer version of a change.
    pub revision: u64,
}

/// A record that is to be written.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The fields that it changes, with `[]` for any item of a list; the first few if there are many.
    pub paths: Vec<String>,
}

/// Writes the record of a change: of the version before, if there was one, into the version after, if there is one.
pub fn encode(
    author: &Author<'_>,
    before: Option<Version<'_>>,
    after: Option<Version<'_>>,
    values: Values,
) -> Result<Encoded, String> {
    let mut encoder = Encoder::new();
    encoder.byte(FORMAT);
    encoder.byte(Verb::ALL.iter().position(|verb| *verb == author.verb).unwrap_or_default() as u8);
    encoder.varint(u64::from(encoder.table_version()));
    encoder.varint(before.map_or(0, |before| before.revision));
    encoder.text(author.user);
    encoder.text(author.manager);
    encoder.text(author.subresource);
    encoder.byte(u8::from(after.is_some()));
    let paths = match before {
        None => Vec::new(),
        Some(before) => {
            let (nothing, no_managers) = (Value::Null, Managers::default());
            let (object, newer) =
                after.map_or((&nothing, &no_managers), |after| (after.object, after.managers));
            managers::write(newer, before.managers, &mut encoder)?;
            DeltaWriter::new(&mut encoder).document(object, before.object, Place::root(values))
        }
    };
    // Records are kept for long, and in memory, too.
    encoder.out.shrink_to_fit();
    Ok(Encoded { bytes: encoder.out, paths })
}

/// A record that was read.
#[derive(Clone, Debug)]
pub struct Record<'b> {
    /// How the object was written.
    pub verb: Verb,
    /// The user who made the request.
    pub user: Text,
    /// The field manager.
    pub manager: Text,
    /// The subresource; empty for the object itself.
    pub subresource: Text,
    /// The revision of the version before; `None` if the object did not exist.
    pub previous: Option<u64>,
    /// Whether the object existed after the change.
    pub remains: bool,
    revision: u64,
    delta: &'b [u8],
    table: Option<&'static Table>,
}

impl<'b> Record<'b> {
    /// Reads the record that a revision left.
    pub fn decode(bytes: &'b [u8], revision: u64) -> Result<Record<'b>, HistoryError> {
        decode(bytes, revision).map_err(|problem| HistoryError::Damaged { revision, problem })
    }

    /// Returns the version before the change, given the one after it; both are `None` where the object did not exist.
    pub fn undo(&self, after: Option<&State>) -> Result<Option<State>, HistoryError> {
        let damaged = |problem| HistoryError::Damaged { revision: self.revision, problem };
        if self.previous.is_none() {
            return Ok(None);
        }
        let mut delta = Decoder::new(self.delta, self.table);
        let (nothing, no_managers) = (Value::Null, Managers::default());
        let (object, newer) = match (after, self.remains) {
            (Some(after), true) => (&after.object, &after.managers),
            (None, false) => (&nothing, &no_managers),
            _ => return Err(damaged("it is of another version".into())),
        };
        let managers = managers::apply(newer, &mut delta).map_err(damaged)?;
        let object = delta::apply(object, &mut delta, self.revision).map_err(damaged)?;
        match delta.is_empty() {
            true => Ok(Some(State { object, managers })),
            false => Err(damaged("bytes follow its end".into())),
        }
    }
}

fn decode(bytes: &[u8], revision: u64) -> Result<Record<'_>, Problem> {
    let mut decoder = Decoder::new(bytes, None);
    match decoder.byte()? {
        FORMAT => {}
        other => return Err(format!("it is of the unknown format {other}")),
    }
    let verb = *Verb::ALL.get(usize::from(decoder.byte()?)).ok_or("its verb is unknown")?;
    let table = Decoder::table_of(decoder.varint()?)?;
    decoder.set_table(table);
    let previous = Some(decoder.varint()?).filter(|previous| *previous != 0);
    let (user, manager, subresource) = (decoder.text()?, decoder.text()?, decoder.text()?);
    let remains = decoder.byte()? != 0;
    Ok(Record { verb, user, manager, subresource, previous, remains, revision, delta: decoder.rest(), table })
}
