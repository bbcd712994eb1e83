//! `tenure fields`: encode, decode, size.

use crate::harness::{sample, tenure, tenure_reading};
use tenure_value::Value;

#[test]
fn managers_are_shown_with_the_paths_they_own() {
    tenure(&["fields", "decode", "live.yaml"]).exits_with(0).matches_snapshot("fields-decode.txt");
    tenure(&["fields", "decode", "live.yaml", "--color", "always", "--manager", "hpa"])
        .exits_with(0)
        .matches_snapshot("fields-decode-colours.txt");
    let output = tenure(&["fields", "decode", "live.yaml", "--manager", "nobody"]).exits_with(1);
    assert!(output.err.contains("no manager is named \"nobody\"; the managers are "), "{}", output.err);
}

#[test]
fn every_form_leads_back_to_the_same_managers() {
    let shown = tenure(&["fields", "decode", "live.yaml", "-o", "json"]).exits_with(0).json();
    for form in ["binary", "fields-v1"] {
        let encoded = tenure(&["fields", "encode", "live.yaml", "--form", form]).exits_with(0);
        let decoded = tenure_reading(&["fields", "decode", "-o", "json"], &encoded.out).exits_with(0);
        assert_eq!(decoded.json(), shown, "{form}");
    }
    let one =
        tenure(&["fields", "decode", "live.yaml", "--manager", "hpa", "-o", "json"]).exits_with(0).json();
    let set = one.as_array().and_then(|all| all.first()?.get("fieldsV1").cloned()).unwrap_or_default();
    for form in ["nested-lists", "string-table"] {
        let encoded =
            tenure(&["fields", "encode", "live.yaml", "--manager", "hpa", "--form", form]).exits_with(0);
        let decoded = tenure_reading(&["fields", "decode", "-", "-o", "json"], &encoded.out).exits_with(0);
        assert_eq!(decoded.json(), set, "{form}");
    }
    let digits = tenure(&["fields", "encode", "live.yaml", "--hex"]).exits_with(0);
    assert!(digits.text().starts_with("0x81"), "{}", digits.text());
    assert_eq!(tenure_reading(&["fields", "decode", "-o", "json"], &digits.out).exits_with(0).json(), shown);
}

#[test]
fn a_text_form_requires_one_manager() {
    let output = tenure(&["fields", "encode", "live.yaml", "--form", "nested-lists"]).exits_with(1);
    assert!(output.err.contains("choose one with --manager"), "{}", output.err);
    let output = tenure(&["fields", "encode", "live.yaml", "--form", "xml"]).exits_with(1);
    assert!(output.err.contains("fields-v1, nested-lists, string-table, binary"), "{}", output.err);
}

#[test]
fn sizes_are_shown_by_object_and_in_total() {
    tenure(&["fields", "size", "live.yaml", "widgets.yaml"])
        .exits_with(0)
        .matches_snapshot("fields-size.txt");
    let told =
        tenure_reading(&["fields", "size", "-o", "json", "--top", "1"], sample("widgets.yaml").as_bytes())
            .exits_with(0)
            .json();
    assert_eq!(told.get("objects").and_then(Value::as_array).map(|all| all.len()), Some(1));
    let sum = |name: &str| told.at(["sum", name]).and_then(Value::as_i64).unwrap_or_default();
    assert!(sum("managedFields") > sum("binary") && sum("object") > sum("managedFields"), "{told}");
}
