//! Values that are written as strings and mean something more: amounts of resources, points in time, bytes.
//! Each reads what clients send and writes the one canonical form.

pub mod base64;
pub mod quantity;
pub mod time;

pub use quantity::Quantity;
pub use time::Timestamp;
