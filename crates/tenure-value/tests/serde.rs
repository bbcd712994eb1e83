//! Serde: conversion of types to documents and back, by this crate and by others.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{collections::BTreeMap, fmt::Debug};
use tenure_value::{Value, from_value, to_value};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Port {
    name: String,
    container_port: u16,
    protocol: Protocol,
    #[serde(skip_serializing_if = "Option::is_none")]
    host_ip: Option<String>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Protocol {
    Udp,
    Other(String),
    Pair(u8, i8),
    Ranged { from: u16, to: u16 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Meters(f64);

fn round_trip<T: Serialize + DeserializeOwned + PartialEq + Debug>(typed: T, json: &str) {
    let value = to_value(&typed).unwrap();
    assert_eq!(value.to_string(), json);
    assert_eq!(from_value::<T>(&value), Ok(typed));
}

#[test]
fn types_round_trip_through_documents() {
    let port = |protocol| Port { name: "dns".into(), container_port: 53, protocol, host_ip: None };
    round_trip(port(Protocol::Udp), r#"{"containerPort":53,"name":"dns","protocol":"Udp"}"#);
    round_trip(Protocol::Other("x".into()), r#"{"Other":"x"}"#);
    round_trip(Protocol::Pair(1, -2), r#"{"Pair":[1,-2]}"#);
    round_trip(Protocol::Ranged { from: 1, to: 2 }, r#"{"Ranged":{"from":1,"to":2}}"#);
    round_trip(Meters(1.5), "1.5");
    round_trip(BTreeMap::from([(10u8, true), (9, false)]), r#"{"10":true,"9":false}"#);
    round_trip(BTreeMap::from([(true, 'a')]), r#"{"true":"a"}"#);
    round_trip((Some(1u64), None::<u64>, ()), "[1,null,null]");
    round_trip(u64::MAX, "18446744073709551615");
    round_trip(i64::MIN, "-9223372036854775808");
}

#[test]
fn mismatches_are_rejected_with_their_path() {
    let value: Value = r#"{"ports":[{"name":"a","containerPort":70000,"protocol":"Udp"}]}"#.parse().unwrap();
    let error = from_value::<BTreeMap<String, Vec<Port>>>(&value).unwrap_err();
    assert_eq!(error.to_string(), "ports[0].containerPort: invalid value: integer `70000`, expected u16");

    let error = from_value::<(u8, u8)>(&Value::array([1.into(), 2.into(), 3.into()])).unwrap_err();
    assert_eq!(error.to_string(), "1 more items than expected");

    let error = to_value(&BTreeMap::from([("a", vec![1.0, f64::NAN])])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a[1]: NaN is not a finite number; documents can only contain finite numbers"
    );

    let error = to_value(&u128::MAX).unwrap_err();
    assert_eq!(error.to_string(), "340282366920938463463374607431768211455 does not fit 64 bits");
}

#[test]
fn documents_convert_to_and_from_serde_json() {
    let text = r#"{"a":[null,true,-1,18446744073709551615,1.5,"é"],"b":{"c":{}}}"#;
    let ours: Value = text.parse().unwrap();
    let theirs: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_value(&ours).unwrap(), theirs);
    assert_eq!(to_value(&theirs), Ok(ours.clone()));
    assert_eq!(from_value::<serde_json::Value>(&ours), Ok(theirs.clone()));
    assert_eq!(serde_json::from_value::<Value>(theirs).unwrap(), ours);
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), ours);
    assert_eq!(serde_json::to_string(&ours).unwrap(), text);
}
