//! Reverse deltas of managers: most writes change the time of one entry, or a few of its fields.

use crate::{
    codec::{Decoder, Encoder},
    error::Problem,
};
use std::collections::HashMap;
use tenure_apply::{Manager, Managers, Operation, Timestamp};
use tenure_fields::{FieldSet, compact::binary};

/// What differs in an entry that both versions have.
const TIME: u8 = 1;
const FIELDS: u8 = 2;

type Key<'m> = (&'m str, Operation, &'m str, &'m str);

fn key(manager: &Manager) -> Key<'_> {
    (&manager.name, manager.operation, &manager.subresource, &manager.api_version)
}

/// Writes what leads from the newer managers to the older ones. Fails if a set cannot be encoded.
pub(crate) fn write(newer: &Managers, older: &Managers, encoder: &mut Encoder) -> Result<(), Problem> {
    if newer == older {
        encoder.byte(0);
        return Ok(());
    }
    encoder.count(older.len() + 1);
    let mut places: Option<HashMap<Key<'_>, usize>> = None;
    for (at, old) in older.iter().enumerate() {
        // Most entries stay where they are; the rest is found by an index, made when the first has moved.
        let same_place = newer.iter().as_slice().get(at).filter(|new| key(new) == key(old)).map(|_| at);
        let place = same_place.or_else(|| {
            let index = || newer.iter().enumerate().map(|(at, new)| (key(new), at)).collect();
            places.get_or_insert_with(index).get(&key(old)).copied()
        });
        match place.and_then(|place| Some((place, newer.iter().as_slice().get(place)?))) {
            Some((place, new)) => {
                encoder.count(place + 1);
                changed(new, old, encoder)?;
            }
            None => {
                encoder.byte(0);
                whole(old, encoder)?;
            }
        }
    }
    Ok(())
}

fn changed(new: &Manager, old: &Manager, encoder: &mut Encoder) -> Result<(), Problem> {
    let flag = |differs: bool, flag: u8| if differs { flag } else { 0 };
    let flags = flag(new.time != old.time, TIME) | flag(new.fields != old.fields, FIELDS);
    encoder.byte(flags);
    if flags & TIME != 0 {
        time(old.time, new.time, encoder);
    }
    if flags & FIELDS != 0 {
        set(&old.fields.difference(&new.fields), encoder)?;
        set(&new.fields.difference(&old.fields), encoder)?;
    }
    Ok(())
}

fn whole(manager: &Manager, encoder: &mut Encoder) -> Result<(), Problem> {
    encoder.text(&manager.name);
    encoder.byte(u8::from(manager.operation == Operation::Update));
    encoder.text(&manager.api_version);
    encoder.text(&manager.subresource);
    time(manager.time, None, encoder);
    set(&manager.fields, encoder)
}

/// Writes a time relative to another.
fn time(time: Option<Timestamp>, base: Option<Timestamp>, encoder: &mut Encoder) {
    match time {
        None => encoder.byte(0),
        Some(time) => {
            encoder.byte(1);
            encoder.signed(time.unix().wrapping_sub(base.map_or(0, Timestamp::unix)));
        }
    }
}

fn set(fields: &FieldSet, encoder: &mut Encoder) -> Result<(), Problem> {
    if fields.is_empty() {
        encoder.byte(0);
        return Ok(());
    }
    encoder.bytes(&binary::encode(fields).map_err(|error| error.to_string())?);
    Ok(())
}

/// Reads what [`write`] wrote and applies it to the newer managers; returns the older ones.
pub(crate) fn apply(newer: &Managers, delta: &mut Decoder<'_>) -> Result<Managers, Problem> {
    let Some(count) = delta.count()?.checked_sub(1) else { return Ok(newer.clone()) };
    let mut older = Vec::with_capacity(count);
    for _ in 0..count {
        let manager = match delta.number()?.checked_sub(1) {
            None => read_whole(delta)?,
            Some(place) => {
                let new =
                    newer.iter().as_slice().get(place).ok_or("it names a manager that does not exist")?;
                read_changed(new, delta)?
            }
        };
        older.push(manager);
    }
    Ok(Managers::new(older))
}

fn read_changed(new: &Manager, delta: &mut Decoder<'_>) -> Result<Manager, Problem> {
    let mut old = new.clone();
    let flags = delta.byte()?;
    if flags & TIME != 0 {
        old.time = read_time(new.time, delta)?;
    }
    if flags & FIELDS != 0 {
        let (added, removed) = (read_set(delta)?, read_set(delta)?);
        old.fields = new.fields.difference(&removed).union(&added);
    }
    Ok(old)
}

fn read_whole(delta: &mut Decoder<'_>) -> Result<Manager, Problem> {
    Ok(Manager {
        name: delta.text()?,
        operation: match delta.byte()? {
            0 => Operation::Apply,
            1 => Operation::Update,
            other => return Err(format!("unknown operation {other} of a manager")),
        },
        api_version: delta.text()?,
        subresource: delta.text()?,
        time: read_time(None, delta)?,
        fields: read_set(delta)?,
    })
}

fn read_time(base: Option<Timestamp>, delta: &mut Decoder<'_>) -> Result<Option<Timestamp>, Problem> {
    Ok(match delta.byte()? {
        0 => None,
        _ => Some(Timestamp::from_unix(delta.signed()?.wrapping_add(base.map_or(0, Timestamp::unix)))),
    })
}

fn read_set(delta: &mut Decoder<'_>) -> Result<FieldSet, Problem> {
    let bytes = delta.bytes()?;
    if bytes.is_empty() {
        return Ok(FieldSet::default());
    }
    binary::decode(bytes).map_err(|error| error.to_string())
}
