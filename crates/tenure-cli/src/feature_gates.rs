//! The feature gates of kube-apiserver that change what is served here.

use tenure_profile::{Improvement, Profile};

/// The gate of CBOR in requests and responses.
const CBOR: &str = "CBORServingAndStorage";
/// The gate of lists and watches by shard.
const SHARDS: &str = "ShardedListAndWatch";

/// Sets what a list of gates, such as `A=true,B=false`, turns on and off. Returns the names of gates that have no effect here.
pub fn apply(gates: &[String], profile: &mut Profile) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    for gate in gates.iter().map(|gate| gate.trim()).filter(|gate| !gate.is_empty()) {
        let is_on = match gate.split_once('=').map(|(_, value)| value.to_ascii_lowercase()).as_deref() {
            Some("true" | "t" | "1") => true,
            Some("false" | "f" | "0") => false,
            _ => return Err(format!("feature gate {gate:?}: expected NAME=true or NAME=false")),
        };
        match gate.split_once('=').map(|(name, _)| name.trim()) {
            Some(CBOR) => profile.set(Improvement::ServeCbor, is_on),
            Some(SHARDS) => profile.set(Improvement::ShardedLists, is_on),
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
        let mut profile = Profile::kubernetes();
        assert_eq!(
            apply(&gates("CBORServingAndStorage=true,Other=false"), &mut profile),
            Ok(vec!["Other".into()])
        );
        assert!(profile.has(Improvement::ServeCbor));
        assert_eq!(apply(&gates("CBORServingAndStorage=False"), &mut profile), Ok(Vec::new()));
        assert!(!profile.has(Improvement::ServeCbor));
        for wrong in ["CBORServingAndStorage", "A=perhaps"] {
            let error = apply(&gates(wrong), &mut profile).unwrap_err();
            assert!(error.contains("expected NAME=true or NAME=false"), "{error}");
        }
    }
}
