//! Resource quantities (`100m`, `1.5Gi`, `1e3`). A quantity is an integer number of billionths, rounded away
//! from zero; its notation decides whether it is formatted with decimal or binary suffixes.

use std::fmt::Write;

/// The notation of a quantity, in which it is formatted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notation {
    /// `n u m k M G T P E`.
    Decimal,
    /// `Ki Mi Gi Ti Pi Ei`.
    Binary,
    /// `e3`, `E-6`.
    Exponent,
}

/// A resource quantity.
///
/// ```
/// use tenure_meta::Quantity;
///
/// let memory = Quantity::parse("1.5Gi").unwrap();
/// assert_eq!(memory.canonical(), "1536Mi");
/// assert!(Quantity::parse("100m").unwrap() < Quantity::parse("1").unwrap());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nanos: i128,
    notation: Notation,
}

const BILLION: i128 = 1_000_000_000;
/// The maximum; larger values are capped.
const MOST: i128 = i64::MAX as i128 * BILLION;
/// The number of digits of a mantissa; further ones only round.
const DIGITS: usize = 28;
/// The messages of Kubernetes.
pub const SYNTAX: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX: &str = "unable to parse quantity's suffix";

/// Suffix, base and exponent.
const SUFFIXES: [(&str, Notation, i32); 16] = [
    ("n", Notation::Decimal, -9),
    ("u", Notation::Decimal, -6),
    ("m", Notation::Decimal, -3),
    ("", Notation::Decimal, 0),
    ("k", Notation::Decimal, 3),
    ("M", Notation::Decimal, 6),
    ("G", Notation::Decimal, 9),
    ("T", Notation::Decimal, 12),
    ("P", Notation::Decimal, 15),
    ("E", Notation::Decimal, 18),
    ("Ki", Notation::Binary, 10),
    ("Mi", Notation::Binary, 20),
    ("Gi", Notation::Binary, 30),
    ("Ti", Notation::Binary, 40),
    ("Pi", Notation::Binary, 50),
    ("Ei", Notation::Binary, 60),
];

impl Quantity {
    /// Zero.
    pub const ZERO: Quantity = Quantity::whole(0);
    /// One.
    pub const ONE: Quantity = Quantity::whole(1);

    /// Returns an integer.
    pub const fn whole(number: i64) -> Quantity {
        Quantity { nanos: number as i128 * BILLION, notation: Notation::Decimal }
    }

    /// Parses a quantity; `None` if the text is invalid.
    pub fn parse(text: &str) -> Option<Quantity> {
        let (negative, unsigned) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        // A sign, a point or a suffix alone is a zero.
        if fraction.contains('.') {
            return None;
        }
        let (notation, base, exponent) = suffix_of(suffix)?;
        let nanos = scale(whole, fraction, base, exponent).min(MOST);
        Some(Quantity { nanos: if negative { -nanos } else { nanos }, notation })
    }

    /// Returns the value in billionths.
    pub fn nanos(self) -> i128 {
        self.nanos
    }

    /// Returns the value as an integer, rounded up.
    pub fn ceil(self) -> i64 {
        let whole = self.nanos.div_euclid(BILLION) + i128::from(self.nanos.rem_euclid(BILLION) != 0);
        i64::try_from(whole).unwrap_or(if whole < 0 { i64::MIN } else { i64::MAX })
    }

    /// Whether the value is an integer.
    pub fn is_whole(self) -> bool {
        self.nanos % BILLION == 0
    }

    /// Returns the value rounded away from zero to thousandths.
    pub fn rounded_to_thousandths(self) -> Quantity {
        const MILLION: i128 = 1_000_000;
        let (whole, rest) = (self.nanos / MILLION, self.nanos % MILLION);
        Quantity { nanos: (whole + rest.signum()) * MILLION, ..self }
    }

    /// Returns the sum, in the notation of the first unless that is zero.
    pub fn plus(self, other: Quantity) -> Quantity {
        let notation = if self.nanos == 0 { other.notation } else { self.notation };
        Quantity { nanos: (self.nanos + other.nanos).clamp(-MOST, MOST), notation }
    }

    /// Returns the difference, in the notation of the first unless that is zero.
    pub fn minus(self, other: Quantity) -> Quantity {
        self.plus(Quantity { nanos: -other.nanos, ..other })
    }

    /// Returns the canonical text.
    pub fn canonical(self) -> String {
        if self.nanos == 0 {
            return "0".into();
        }
        let mut out = String::with_capacity(24);
        let magnitude = self.nanos.unsigned_abs();
        // Below 1024 and with a fraction, binary suffixes would lose digits.
        let kilo = 1024 * BILLION as u128;
        let binary = self.notation == Notation::Binary && self.is_whole() && magnitude >= kilo;
        if self.nanos < 0 {
            out.push('-');
        }
        let (mantissa, suffix) = if binary { binary_form(magnitude) } else { decimal_form(magnitude) };
        let _ = write!(out, "{mantissa}");
        match (self.notation, suffix) {
            (Notation::Exponent, 0) => {}
            (Notation::Exponent, exponent) if !binary => {
                let _ = write!(out, "e{exponent}");
            }
            (_, exponent) => {
                let notation = if binary { Notation::Binary } else { Notation::Decimal };
                let found = SUFFIXES.iter().find(|row| row.1 == notation && row.2 == exponent);
                out.push_str(found.map_or("", |row| row.0));
            }
        }
        out
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Quantity) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Quantity) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Quantity) -> std::cmp::Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

/// Returns why a text is not a quantity, in the words of Kubernetes.
pub fn error(text: &str) -> &'static str {
    let digits = |text| str::trim_start_matches(text, |character: char| character.is_ascii_digit());
    let rest = digits(text.strip_prefix(['-', '+']).unwrap_or(text));
    let rest = rest.strip_prefix('.').map_or(rest, digits);
    let rest = rest.trim_start_matches(|character| "eEinumkKMGTP".contains(character));
    let rest = digits(rest.strip_prefix(['-', '+']).unwrap_or(rest));
    if text.is_empty() || !rest.is_empty() { SYNTAX } else { SUFFIX }
}

/// Returns notation, base and exponent of a suffix.
fn suffix_of(suffix: &str) -> Option<(Notation, u32, i32)> {
    if let Some((_, notation, exponent)) = SUFFIXES.iter().find(|row| row.0 == suffix) {
        let base = if *notation == Notation::Binary { 2 } else { 10 };
        return Some((*notation, base, *exponent));
    }
    let digits = suffix.strip_prefix(['e', 'E'])?;
    let exponent: i32 = digits.parse().ok()?;
    Some((Notation::Exponent, 10, exponent.clamp(-1000, 1000)))
}

/// Returns the value in billionths: digits with a decimal point, times a power of two or ten.
fn scale(whole: &str, fraction: &str, base: u32, exponent: i32) -> i128 {
    let digits = whole.bytes().chain(fraction.bytes()).skip_while(|digit| *digit == b'0');
    let significant = digits.clone().count();
    let mut mantissa: u128 = 0;
    for digit in digits.clone().take(DIGITS) {
        mantissa = mantissa * 10 + u128::from(digit - b'0');
    }
    if mantissa == 0 {
        return 0;
    }
    let dropped = significant.saturating_sub(DIGITS);
    let rest_is_zero = digits.skip(DIGITS).all(|digit| digit == b'0');
    let mut ten = dropped as i64 - fraction.len() as i64 + 9;
    let mut exact = rest_is_zero;
    if base == 10 {
        ten += i64::from(exponent);
    } else {
        match mantissa.checked_mul(1 << exponent) {
            Some(product) => mantissa = product,
            None => return MOST,
        }
    }
    while ten > 0 && mantissa < MOST as u128 {
        mantissa *= 10;
        ten -= 1;
    }
    if ten > 0 {
        return MOST;
    }
    while ten < 0 && mantissa > 0 {
        exact &= mantissa.is_multiple_of(10);
        mantissa /= 10;
        ten += 1;
    }
    i128::try_from(mantissa).map_or(MOST, |nanos| nanos + i128::from(!exact))
}

/// Splits billionths into a mantissa and a power of ten that is a multiple of three.
fn decimal_form(mut mantissa: u128) -> (u128, i32) {
    let mut exponent = -9;
    while mantissa.is_multiple_of(10) {
        mantissa /= 10;
        exponent += 1;
    }
    while exponent % 3 != 0 {
        mantissa *= 10;
        exponent -= 1;
    }
    (mantissa, exponent)
}

/// Splits billionths of a whole number into a mantissa and a power of two that is a multiple of ten.
fn binary_form(nanos: u128) -> (u128, i32) {
    let (mut mantissa, mut exponent) = (nanos / BILLION as u128, 0);
    while mantissa.is_multiple_of(1024) {
        mantissa /= 1024;
        exponent += 10;
    }
    (mantissa, exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_one_canonical_text() {
        for (text, canonical) in [
            ("0", "0"),
            ("0Gi", "0"),
            ("-0", "0"),
            ("1", "1"),
            ("+1", "1"),
            ("1.5", "1500m"),
            ("0.1", "100m"),
            (".5", "500m"),
            ("5.", "5"),
            ("1000m", "1"),
            ("1000", "1k"),
            ("1024", "1024"),
            ("1100", "1100"),
            ("1.5Gi", "1536Mi"),
            ("0.5Gi", "512Mi"),
            ("1024Mi", "1Gi"),
            ("1025Ki", "1025Ki"),
            ("0.5Ki", "512"),
            ("0.0001Ki", "102400u"),
            ("100e3", "100e3"),
            ("1e3", "1e3"),
            ("12e1", "120"),
            ("1E", "1E"),
            ("1E3", "1e3"),
            ("1e-10", "1e-9"),
            ("0.0000000001", "1n"),
            ("-1.5Gi", "-1536Mi"),
            ("9223372036854775808", "9223372036854775807"),
            ("99999E", "9223372036854775807"),
            ("1e100", "9223372036854775807"),
            ("0.00000000000000000000000000000000000000000000001", "1n"),
        ] {
            assert_eq!(Quantity::parse(text).map(Quantity::canonical).as_deref(), Some(canonical), "{text}");
        }
    }

    #[test]
    fn invalid_quantities_are_rejected() {
        for text in ["", "x", "1x", "1.2.3", "1 Gi", "1e1.5", "1,5"] {
            assert!(Quantity::parse(text).is_none(), "{text}");
            assert_eq!(error(text), SYNTAX, "{text}");
        }
        for text in ["1e", "1mm", "1Kii", "e"] {
            assert!(Quantity::parse(text).is_none(), "{text}");
            assert_eq!(error(text), SUFFIX, "{text}");
        }
        for text in ["-", ".", "Gi"] {
            assert_eq!(Quantity::parse(text), Some(Quantity::ZERO), "{text}");
        }
    }

    #[test]
    fn rounding_goes_away_from_zero() {
        let rounded =
            |text| Quantity::parse(text).map(|quantity| quantity.rounded_to_thousandths().canonical());
        assert_eq!(rounded("100.5m").as_deref(), Some("101m"));
        assert_eq!(rounded("1n").as_deref(), Some("1m"));
        assert_eq!(rounded("-1n").as_deref(), Some("-1m"));
        assert_eq!(rounded("2").as_deref(), Some("2"));
        assert_eq!(Quantity::parse("1.1").map(Quantity::ceil), Some(2));
        assert_eq!(Quantity::parse("-1.1").map(Quantity::ceil), Some(-1));
    }
}
