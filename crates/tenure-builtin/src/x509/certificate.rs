//! An X.509 certificate, as far as the server looks at it: its validity, its key, its names, and whether it is of an authority. Its
//! signature is not verified, since the server does not know the issuer.

use super::{
    der::{
        Algorithm, BOOLEAN, GENERALIZED_TIME, INTEGER, OBJECT_IDENTIFIER, OCTET_STRING, Reader, UTC_TIME,
        check_name, part, plain_part,
    },
    public_key::PublicKey,
};
use std::collections::BTreeSet;
use tenure_meta::time::{Precision, Timestamp};

/// The object identifiers of extensions that are read.
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 0x11];

/// The tags of alternative names.
const EMAIL: u8 = plain_part(1);
const DNS: u8 = plain_part(2);
const URI: u8 = plain_part(6);
const ADDRESS: u8 = plain_part(7);

/// A certificate.
#[derive(Clone, Debug)]
pub(crate) struct Certificate<'d> {
    /// When it begins and ends to be valid, in seconds since 1970.
    pub not_before: i64,
    pub not_after: i64,
    pub key: PublicKey<'d>,
    /// The names in its extension for alternative names.
    pub dns_names: Vec<&'d str>,
    pub emails: Vec<&'d str>,
    /// Whether it is of an authority.
    pub is_authority: bool,
}

impl<'d> Certificate<'d> {
    /// Reads a certificate in DER.
    pub fn parse(der: &'d [u8]) -> Option<Certificate<'d>> {
        let mut reader = Reader::new(der);
        let mut parts = reader.sequence().filter(|_| reader.is_empty())?;
        let mut fields = parts.sequence()?;
        let algorithm = Algorithm::read(&mut parts)?;
        parts.bits()?;
        let version = match fields.optional(part(0))? {
            Some(version) => match Reader::new(version).unsigned()? {
                [] => 1,
                [number @ 0..=2] => number + 1,
                _ => return None,
            },
            None => 1,
        };
        // The serial number is not negative.
        fields.unsigned()?;
        if Algorithm::read(&mut fields)? != algorithm {
            return None;
        }
        check_name(&mut fields)?;
        let mut validity = fields.sequence()?;
        let (not_before, not_after) = (time(&mut validity)?, time(&mut validity)?);
        check_name(&mut fields)?;
        let key = PublicKey::read(&mut fields)?;
        let mut certificate = Certificate {
            not_before,
            not_after,
            key,
            dns_names: Vec::new(),
            emails: Vec::new(),
            is_authority: false,
        };
        if version > 1 {
            fields.optional(plain_part(1))?;
            fields.optional(plain_part(2))?;
        }
        if version > 2
            && let Some(extensions) = fields.optional(part(3))?
        {
            certificate.read_extensions(extensions)?;
        }
        Some(certificate)
    }

    fn read_extensions(&mut self, extensions: &'d [u8]) -> Option<()> {
        let mut extensions = Reader::new(extensions).sequence()?;
        let mut seen = BTreeSet::new();
        while !extensions.is_empty() {
            let mut extension = extensions.sequence()?;
            let name = extension.expect(OBJECT_IDENTIFIER)?;
            if extension.is_next(BOOLEAN) {
                extension.boolean()?;
            }
            let value = extension.expect(OCTET_STRING)?;
            if !seen.insert(name) {
                return None;
            }
            match name {
                BASIC_CONSTRAINTS => {
                    let mut constraints = Reader::new(value).sequence()?;
                    self.is_authority = constraints.is_next(BOOLEAN) && constraints.boolean()?;
                    if constraints.is_next(INTEGER) {
                        constraints.unsigned()?;
                    }
                }
                ALTERNATIVE_NAMES => self.read_names(value)?,
                _ => {}
            }
        }
        Some(())
    }

    fn read_names(&mut self, names: &'d [u8]) -> Option<()> {
        let mut names = Reader::new(names).sequence()?;
        while !names.is_empty() {
            let name = names.element()?;
            let text = || std::str::from_utf8(name.content).ok().filter(|text| text.is_ascii());
            match name.tag {
                EMAIL => self.emails.push(text()?),
                DNS => self.dns_names.push(text()?),
                URI => drop(text()?),
                ADDRESS if !matches!(name.content.len(), 4 | 16) => return None,
                _ => {}
            }
        }
        Some(())
    }
}

/// Reads a time: `YYMMDDhhmmssZ` of the years 1950 to 2049, or `YYYYMMDDhhmmssZ`.
fn time(reader: &mut Reader<'_>) -> Option<i64> {
    let element = reader.element()?;
    let digits = std::str::from_utf8(element.content).ok()?.strip_suffix('Z')?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let full = match (element.tag, digits.len()) {
        (UTC_TIME, 12) => format!("{}{digits}", if digits < "50" { "20" } else { "19" }),
        (GENERALIZED_TIME, 14) => digits.to_owned(),
        _ => return None,
    };
    let part = |from: usize, to: usize| full.get(from..to);
    let text = format!(
        "{}-{}-{}T{}:{}:{}Z",
        part(0, 4)?,
        part(4, 6)?,
        part(6, 8)?,
        part(8, 10)?,
        part(10, 12)?,
        part(12, 14)?
    );
    Timestamp::parse(&text, Precision::Seconds).map(|time| time.seconds)
}
