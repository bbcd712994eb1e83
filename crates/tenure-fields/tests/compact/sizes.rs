//! Sizes of the encodings: the example of the original design exactly, and recorded objects within a target.

use crate::{corpus, recordings};
use tenure_fields::{
    FieldSet,
    compact::{ManagerRecord, Table, binary, nested_lists, tables},
    fields_v1,
};
use tenure_value::{Limits, Value, json};

/// The example of the original design: a set in several encodings.
fn example() -> Value {
    json::parse(include_bytes!("example.json"), &Limits::TRUSTED).expect("the example is JSON")
}

fn text<'v>(example: &'v Value, name: &str) -> &'v str {
    example.get(name).and_then(Value::as_str).expect("the example has this text")
}

fn set(example: &Value) -> FieldSet {
    fields_v1::parse(text(example, "fieldsV1").as_bytes()).expect("the example's set can be read")
}

/// The string table of the design, with `mountPath` this many times: its text numbers the string once as the
/// name of a key field (`!P`) and once as a field (`!Q`), but the printed table contains it once.
fn table_of(example: &Value, mount_paths: usize) -> Vec<&str> {
    let strings = example.get("table").and_then(Value::as_array).expect("the example has a table");
    let times = |text: &str| if text == "mountPath" { mount_paths } else { 1 };
    strings.iter().filter_map(Value::as_str).flat_map(|text| vec![text; times(text)]).collect()
}

#[test]
fn the_example_encodes_to_the_nested_lists_of_the_design() {
    let example = example();
    let expected = text(&example, "nestedLists");
    assert_eq!(nested_lists::to_text(&set(&example)), expected);
    assert_eq!(expected.len(), 1528);
    assert_eq!(nested_lists::parse(expected).unwrap(), set(&example));
}

#[test]
fn the_example_encodes_to_the_table_references_of_the_design() {
    let example = example();
    let table = Table::of_strings(1, table_of(&example, 2));
    let expected = text(&example, "nestedListsWithTable");
    assert_eq!(nested_lists::to_text_with(&set(&example), &table), expected);
    assert_eq!(expected.len(), 678);
    assert_eq!(nested_lists::parse_with(expected, &table).unwrap(), set(&example));
}

#[test]
fn the_printed_table_of_the_design_only_changes_numbers() {
    let example = example();
    let table = Table::of_strings(1, table_of(&example, 1));
    let found = nested_lists::to_text_with(&set(&example), &table);
    // Every number after that of `mountPath` is one less, since the printed table has one string less.
    let mut after_sign = false;
    let renumbered = text(&example, "nestedListsWithTable").chars().map(|character| {
        let number = std::mem::replace(&mut after_sign, character == '!');
        match character {
            'a' if number => 'Z',
            'Q'..='Z' | 'b'..='z' if number => char::from(character as u8 - 1),
            _ => character,
        }
    });
    assert_eq!(found, renumbered.collect::<String>());
    assert_eq!(found.len(), 678);
    assert_eq!(nested_lists::parse_with(&found, &table).unwrap(), set(&example));
}

#[test]
fn the_example_takes_few_bytes_with_every_table() {
    let set = set(&example());
    for (table, most) in tables::all().zip([220, 180]) {
        let bytes = binary::encode_with(&set, table).unwrap();
        println!("the example with table {}: {} bytes", table.version(), bytes.len());
        assert!(bytes.len() <= most, "{} bytes", bytes.len());
        assert_eq!(binary::decode(&bytes).unwrap(), set);
    }
    let with_table = nested_lists::to_text_with_table(&set).unwrap();
    println!("as nested lists with our table: {} bytes", with_table.len());
    assert_eq!(nested_lists::parse_with_table(&with_table).unwrap(), set);
}

/// The size of the sets alone: the size of the object minus that of the same managers with empty sets.
fn sets_alone(records: &[ManagerRecord], table: &Table) -> usize {
    let emptied =
        |record: &ManagerRecord| ManagerRecord { fields: Some(FieldSet::default()), ..record.clone() };
    let emptied: Vec<ManagerRecord> = records.iter().map(emptied).collect();
    let heads = binary::encode_object_with(&emptied, table).unwrap().len() - emptied.len();
    binary::encode_object_with(records, table).unwrap().len() - heads
}

/// The most percent of their `FieldsV1` that recorded objects take, by table: all of them, and those of the repository, which are
/// smaller.
const PERCENT: [f64; 2] = [12.0, 10.0];
const PERCENT_OF_SAMPLE: [f64; 2] = [13.0, 12.5];

#[test]
fn recorded_objects_take_few_percent_of_their_fields_v1() {
    let is_complete = recordings::complete("conformance/fuzz").is_some();
    for (table, most) in tables::all().zip(if is_complete { PERCENT } else { PERCENT_OF_SAMPLE }) {
        measure(table, most);
    }
}

fn measure(table: &Table, most: f64) {
    let (mut whole, mut sets, mut before) = (0, 0, 0);
    let mut shares = Vec::new();
    for object in corpus::objects() {
        let bytes = binary::encode_object_with(&object.records, table).unwrap();
        assert_eq!(binary::decode_object(&bytes).unwrap(), object.records);
        whole += bytes.len();
        sets += sets_alone(&object.records, table);
        before += object.fields_v1;
        shares.push(bytes.len() as f64 / object.fields_v1 as f64);
    }
    assert!(before > 0, "the recordings have objects");
    shares.sort_by(f64::total_cmp);
    let percent = |bytes: usize| 100.0 * bytes as f64 / before as f64;
    println!("{} objects, {before} bytes as FieldsV1, table {}", shares.len(), table.version());
    println!(
        "whole objects {whole} bytes, {:.2} %; their sets {sets} bytes, {:.2} %",
        percent(whole),
        percent(sets)
    );
    for part in [1, 10, 25, 50, 75, 90, 99] {
        println!(
            "{part:3} of 100 objects take at most {:.1} %",
            100.0 * shares[(shares.len() - 1) * part / 100]
        );
    }
    assert!(percent(whole) <= most);
}
