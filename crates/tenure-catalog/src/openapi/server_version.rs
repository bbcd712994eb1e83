//! The document of `/version`, which belongs to no group.

use tenure_profile::KubernetesVersion;
use tenure_value::Value;

/// The members of the version of a server, and whether they are always there.
const MEMBERS: [(&str, bool, &str); 13] = [
    ("major", true, "Major is the major version of the binary version"),
    ("minor", true, "Minor is the minor version of the binary version"),
    ("emulationMajor", false, "The major version that is emulated"),
    ("emulationMinor", false, "The minor version that is emulated"),
    ("minCompatibilityMajor", false, "The major version of the oldest compatible server"),
    ("minCompatibilityMinor", false, "The minor version of the oldest compatible server"),
    ("gitVersion", true, "The version of the API"),
    ("gitCommit", true, "The commit that the server was built from"),
    ("gitTreeState", true, "Whether the sources were those of the commit"),
    ("buildDate", true, "When the server was built"),
    ("goVersion", true, "The version of Go; empty if the server is not written in it"),
    ("compiler", true, "The compiler"),
    ("platform", true, "The operating system and the architecture"),
];
const INFO: &str = "io.k8s.apimachinery.pkg.version.Info";

/// Returns the OpenAPI v3 document of the version of the server.
pub fn server_version(kubernetes: KubernetesVersion) -> Value {
    let text = |text: &str| Value::from(text);
    let properties = MEMBERS.map(|(name, _, description)| {
        let member = [("default", text("")), ("description", text(description)), ("type", text("string"))];
        (name, Value::object(member))
    });
    let required = MEMBERS.iter().filter(|(_, is_required, _)| *is_required).map(|(name, _, _)| text(name));
    let info = Value::object([
        ("description", text("The version of a server.")),
        ("type", text("object")),
        ("required", Value::array(required)),
        ("properties", Value::object(properties)),
    ]);
    let reference = Value::object([("$ref", Value::from(format!("#/components/schemas/{INFO}")))]);
    let content = Value::object([("application/json", Value::object([("schema", reference)]))]);
    let responses = Value::object([
        ("200", Value::object([("description", text("OK")), ("content", content)])),
        ("401", Value::object([("description", text("Unauthorized"))])),
    ]);
    let get = Value::object([
        ("tags", Value::array([text("version")])),
        ("description", text("get the version information for this server")),
        ("operationId", text("getCodeVersion")),
        ("responses", responses),
    ]);
    Value::object([
        ("openapi", text("3.0.0")),
        ("info", crate::openapi::info(kubernetes)),
        ("paths", Value::object([("/version/", Value::object([("get", get)]))])),
        ("components", Value::object([("schemas", Value::object([(INFO, info)]))])),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_of_the_document_leads_somewhere() {
        let document = server_version(KubernetesVersion::DEFAULT);
        let text = document.to_string();
        assert!(text.contains(&format!("#/components/schemas/{INFO}")));
        let info = document.at(["components", "schemas", INFO]).expect("the type of the version");
        assert_eq!(info.at(["properties", "gitVersion", "type"]), Some(&"string".into()));
    }
}
