//! The codes of the binary encoding. They are part of the storage format and never change their meaning.

/// The bit of the version byte that distinguishes the managers of an object from a single set.
pub(super) const OBJECT: u8 = 0x80;
/// Reserved for another layout.
pub(super) const RESERVED_VERSION: u8 = 0x7F;

/// Codes below are phrases of the table. From here, a field in two bytes: three shapes with eight pages each.
pub(super) const FIELD: u8 = 208;
/// The number of pages of 256 strings for each shape.
pub(super) const PAGES: u8 = 8;
/// From here, single steps; groups of three codes are the three shapes.
pub(super) const TEXT: u8 = 232;
pub(super) const PATTERN: u8 = 235;
pub(super) const KEY_LIKE: u8 = 238;
pub(super) const KEY: u8 = 241;
pub(super) const VALUE: u8 = 244;
pub(super) const INDEX: u8 = 247;
pub(super) const END: u8 = 250;
pub(super) const REPEAT: u8 = 251;
pub(super) const DONE: u8 = 252;
/// From here, phrases in two bytes, in pages of 256.
pub(super) const PHRASE_PAGES: u8 = 253;

/// The first byte of a string. Up to here, the length of a literal.
pub(super) const SHORT_MOST: u8 = 0x1F;
/// A string of one character: the character.
pub(super) const CHARACTER_FIRST: u8 = 0x20;
pub(super) const CHARACTER_LAST: u8 = 0x7E;
/// A literal; its length minus 32 follows.
pub(super) const LONG: u8 = 0x7F;
/// An earlier string of the document, by number: 32 in one byte, then eight pages in two bytes.
pub(super) const SEEN: u8 = 0x80;
pub(super) const SEEN_IN_ONE: u8 = 32;
pub(super) const SEEN_PAGES: u8 = 0xA0;
/// A string of the table, by number, in eight pages.
pub(super) const TABLE_PAGES: u8 = 0xA8;
/// A string of the table, and one of the document, whose number follows.
pub(super) const TABLE_FAR: u8 = 0xB0;
pub(super) const SEEN_FAR: u8 = 0xB1;
/// A lowercase UUID, whose sixteen bytes follow.
pub(super) const UUID: u8 = 0xB2;
/// A literal that shares a prefix with the previous one; the lengths of the prefix and the rest follow.
pub(super) const LIKE_FAR: u8 = 0xB3;
/// Values other than strings.
pub(super) const NULL: u8 = 0xB4;
pub(super) const FALSE: u8 = 0xB5;
pub(super) const TRUE: u8 = 0xB6;
pub(super) const WHOLE: u8 = 0xB7;
pub(super) const NEGATIVE: u8 = 0xB8;
pub(super) const FLOAT: u8 = 0xB9;
pub(super) const ARRAY: u8 = 0xBA;
pub(super) const MAP: u8 = 0xBB;
/// A literal that shares a prefix with the previous one: 1 to 16 bytes are shared, 1 to 4 follow.
pub(super) const LIKE: u8 = 0xC0;
pub(super) const LIKE_LEAST: usize = 1;
pub(super) const LIKE_MOST: usize = 16;
pub(super) const LIKE_REST_MOST: usize = 4;
