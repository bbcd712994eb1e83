//! Properties of arbitrary input: it is compiled or rejected, and compiled schemas can be traversed, described,
//! audited, encoded and decoded.

use tenure_schema::{Schema, audit, crd, openapi};
use tenure_value::{Limits, Value, json};

/// Parses the bytes as every input of the crate.
pub fn run(data: &[u8]) {
    if let Ok(schema) = Schema::from_pack(data.to_vec()) {
        walk(&schema);
    }
    let limits = Limits { bytes: 1 << 16, ..Limits::default() };
    if let Ok(value) = json::parse(data, &limits) {
        compile(&value);
    }
}

/// Compiles a value as every kind of source.
pub fn compile(value: &Value) {
    let compiled = [
        openapi::compile_v3(value),
        openapi::compile_v2(value),
        openapi::compile_one(value).map(|(schema, root)| {
            let _ = schema.at(root).outline(3).to_string();
            schema
        }),
        crd::compile(value),
        crd::compile_version(value, "example.com/v1", "Widget"),
    ];
    for outcome in compiled {
        match outcome {
            Ok(schema) => check(&schema),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    for violation in crd::check_structural(value) {
        assert!(violation.path.starts_with("openAPIV3Schema"), "{violation}");
    }
}

fn check(schema: &Schema) {
    walk(schema);
    let bytes = schema.to_pack();
    match Schema::from_pack(bytes.clone()) {
        Ok(read) => assert!(read.to_pack() == bytes, "the pack does not round-trip"),
        Err(error) => panic!("an encoded pack cannot be decoded: {error}"),
    }
}

fn walk(schema: &Schema) {
    for ty in schema.types().take(200) {
        let _ = ty.outline(2).to_string();
    }
    let _ = audit::weak_keys(schema);
}
