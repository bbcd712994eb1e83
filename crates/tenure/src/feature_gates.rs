//! The feature gates of kube-apiserver that change what is served here.

use tenure_server::Behavior;

/// The gate of CBOR in requests and responses.
const CBOR: &str = "CBORServingAndStorage";

/// Sets what a list of gates, such as `A=true,B=false`, turns on and off. Returns the names of gates that have no effect here.
pub fn apply(gates: &[String], behavior: &mut Behavior) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    for gate in gates.iter().map(|gate| gate.trim()).filter(|gate| !gate.is_empty()) {
        let is_on = match gate.split_once('=').map(|(_, value)| value.to_ascii_lowercase()).as_deref() {
            Some("true" | "t" | "1") => true,
            Some("false" | "f" | "0") => false,
            _ => return Err(format!("feature gate {gate:?}: expected NAME=true or NAME=false")),
        };
        match gate.split_once('=').map(|(name, _)| name.trim()) {
            Some(CBOR) => behavior.optional_formats.cbor = is_on,
            Some(name) => unknown.push(name.to_owned()),
            None => {}
        }
    }
    Ok(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_turns_its_feature_on_and_off() {
        let gates = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        let mut behavior = Behavior::kubernetes();
        assert_eq!(
            apply(&gates("CBORServingAndStorage=true,Other=false"), &mut behavior),
            Ok(vec!["Other".into()])
        );
        assert!(behavior.optional_formats.cbor);
        assert_eq!(apply(&gates("CBORServingAndStorage=False"), &mut behavior), Ok(Vec::new()));
        assert!(!behavior.optional_formats.cbor);
        for wrong in ["CBORServingAndStorage", "A=perhaps"] {
            let error = apply(&gates(wrong), &mut behavior).unwrap_err();
            assert!(error.contains("expected NAME=true or NAME=false"), "{error}");
        }
    }
}
