//! The numbers of the binary form, in one place. They are part of what is stored: none changes its
//! meaning while a table is read with this layout.

/// The bit of the version byte that tells the managers of an object from one set.
pub(super) const OBJECT: u8 = 0x80;
/// The version that announces another layout.
pub(super) const RESERVED_VERSION: u8 = 0x7F;

/// Codes below are phrases of the table. From here, a field in two bytes: three shapes, eight pages each.
pub(super) const FIELD: u8 = 208;
/// How many pages of 256 strings each shape has.
pub(super) const PAGES: u8 = 8;
/// From here, the steps by themselves; where there are three codes, they are the three shapes.
pub(super) const TEXT: u8 = 232;
pub(super) const PATTERN: u8 = 235;
pub(super) const KEY_LIKE: u8 = 238;
pub(super) const KEY: u8 = 241;
pub(super) const VALUE: u8 = 244;
pub(super) const INDEX: u8 = 247;
pub(super) const END: u8 = 250;
pub(super) const REPEAT: u8 = 251;
pub(super) const DONE: u8 = 252;

/// The first byte of a string: up to here, the length of a literal.
pub(super) const SHORT_MOST: u8 = 0x1F;
/// A string of one character: the character.
pub(super) const CHARACTER_FIRST: u8 = 0x20;
pub(super) const CHARACTER_LAST: u8 = 0x7E;
/// A literal; its length less 32 follows.
pub(super) const LONG: u8 = 0x7F;
/// A string of the document, by number; 32 in one byte, then eight pages in two.
pub(super) const SEEN: u8 = 0x80;
pub(super) const SEEN_IN_ONE: u8 = 32;
pub(super) const SEEN_PAGES: u8 = 0xA0;
/// A string of the table, by number, in eight pages.
pub(super) const TABLE_PAGES: u8 = 0xA8;
/// A string of the table, one of the document; the number follows.
pub(super) const TABLE_FAR: u8 = 0xB0;
pub(super) const SEEN_FAR: u8 = 0xB1;
/// A UUID in lower case; its sixteen bytes follow.
pub(super) const UUID: u8 = 0xB2;
/// A literal that begins like the one before; how many bytes are the same and how many follow.
pub(super) const LIKE_FAR: u8 = 0xB3;
/// The values that are not strings.
pub(super) const NULL: u8 = 0xB4;
pub(super) const FALSE: u8 = 0xB5;
pub(super) const TRUE: u8 = 0xB6;
pub(super) const WHOLE: u8 = 0xB7;
pub(super) const NEGATIVE: u8 = 0xB8;
pub(super) const FLOAT: u8 = 0xB9;
pub(super) const ARRAY: u8 = 0xBA;
pub(super) const MAP: u8 = 0xBB;
/// A literal that begins like the one before: 1 to 16 bytes are the same, 1 to 4 follow.
pub(super) const LIKE: u8 = 0xC0;
pub(super) const LIKE_LEAST: usize = 1;
pub(super) const LIKE_MOST: usize = 16;
pub(super) const LIKE_REST_MOST: usize = 4;
