#![doc = include_str!("../README.md")]

mod cow_map;

pub use cow_map::{CowMap, Descending, Range};
