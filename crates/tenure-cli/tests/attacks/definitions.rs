//! Definitions of custom resources and policies: schemas, patterns, rules and expressions, and objects against them.

use super::{
    bodies::list,
    server::{Attack, JSON},
};

pub const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies?dryRun=All";

fn definition(plural: &str, schema: &str) -> String {
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"{plural}.example.com"}},
        "spec":{{"group":"example.com","scope":"Cluster","names":{{"plural":"{plural}","singular":"{plural}","kind":"{plural}Kind","listKind":"{plural}List"}},
        "versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{schema}}}}}]}}}}"#
    )
}

/// A definition whose objects are attacked: many alternatives, many defaults, keyed lists and sets.
pub fn victim() -> String {
    let alternatives = list(40, |at| format!(r#"{{"pattern":"^(a|b|c)*x{at}$"}}"#));
    let defaults = list(200, |at| format!(r#""d{at}":{{"type":"string","default":"default"}}"#));
    definition(
        "victims",
        &format!(
            r#"{{"type":"object","properties":{{"spec":{{"type":"object","properties":{{
            "text":{{"type":"string","anyOf":[{alternatives}]}},
            "nested":{{"type":"array","items":{{"type":"string","anyOf":[{{"anyOf":[{alternatives}]}},{{"oneOf":[{alternatives}]}}]}}}},
            "filled":{{"type":"array","items":{{"type":"object","properties":{{{defaults}}}}}}},
            "keyed":{{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{{"type":"object","required":["name"],"properties":{{"name":{{"type":"string"}}}}}}}},
            "set":{{"type":"array","x-kubernetes-list-type":"set","items":{{"type":"string"}}}},
            "enum":{{"type":"array","items":{{"type":"string","enum":[{}]}}}}
            }}}}}}}}"#,
            list(500, |at| format!("\"e{at}\""))
        ),
    )
}

pub fn attacks() -> Vec<Attack> {
    let mut attacks = Vec::new();
    let object_of =
        |fields: &str| format!(r#"{{"type":"object","properties":{{"spec":{{"type":"object",{fields}}}}}}}"#);
    let rule = |rule: &str| {
        object_of(&format!(
            r#""properties":{{"a":{{"type":"array","maxItems":10,"items":{{"type":"string","maxLength":10}}}},"s":{{"type":"string"}},"n":{{"type":"integer"}}}},"x-kubernetes-validations":[{{"rule":"{rule}"}}]"#
        ))
    };
    let schemas: [(&str, String); 22] = [
        (
            "many properties",
            object_of(&format!(
                r#""properties":{{{}}}"#,
                list(5_000, |at| format!(r#""p{at}":{{"type":"string"}}"#))
            )),
        ),
        (
            "deep properties",
            format!(
                "{}{{\"type\":\"string\"}}{}",
                r#"{"type":"object","properties":{"a":"#.repeat(90),
                "}}".repeat(90)
            ),
        ),
        (
            "deep items",
            format!(
                "{}{{\"type\":\"string\"}}{}",
                r#"{"type":"array","items":"#.repeat(180),
                "}".repeat(180)
            ),
        ),
        (
            "deep defaults",
            format!(
                r#"{{"type":"object","properties":{{"spec":{}{{"type":"object"}}{}}}}}"#,
                r#"{"type":"object","default":{},"properties":{"a":"#.repeat(60),
                "}}".repeat(60)
            ),
        ),
        ("many required", object_of(&format!(r#""required":[{}]"#, list(10_000, |at| format!("\"r{at}\""))))),
        (
            "many values",
            object_of(&format!(
                r#""properties":{{"e":{{"type":"string","enum":[{}]}}}}"#,
                list(10_000, |at| format!("\"e{at}\""))
            )),
        ),
        (
            "equal values",
            object_of(&format!(
                r#""properties":{{"e":{{"type":"string","enum":[{}]}}}}"#,
                list(10_000, |_| "\"e\"".into())
            )),
        ),
        (
            "many alternatives",
            object_of(&format!(
                r#""properties":{{"e":{{"type":"string","anyOf":[{}]}}}}"#,
                list(5_000, |at| format!(r#"{{"minLength":{at}}}"#))
            )),
        ),
        (
            "deep alternatives",
            object_of(&format!(
                r#""properties":{{"e":{{"type":"string","not":{}{{"minLength":1}}{}}}}}"#,
                r#"{"anyOf":["#.repeat(80),
                "]}".repeat(80)
            )),
        ),
        (
            "nested repetition",
            object_of(
                r#""properties":{"e":{"type":"string","pattern":"(((a{1,100}){1,100}){1,100}){1,100}"}}"#,
            ),
        ),
        ("ambiguous pattern", object_of(r#""properties":{"e":{"type":"string","pattern":"^(a+)+$"}}"#)),
        (
            "many patterns",
            object_of(&format!(
                r#""properties":{{{}}}"#,
                list(300, |at| format!(r#""p{at}":{{"type":"string","pattern":"^[a-z]{{1,20}}{at}$"}}"#))
            )),
        ),
        ("long sum", rule(&format!("{}1 > 0", "1+".repeat(5_000)))),
        ("long negation", rule(&format!("{}true", "!".repeat(5_000)))),
        ("long minus", rule(&format!("{}1 == 1", "-".repeat(5_000)))),
        ("deep lists", rule(&format!("{}1{} == [1]", "[".repeat(5_000), "]".repeat(5_000)))),
        ("deep parentheses", rule(&format!("{}true{}", "(".repeat(5_000), ")".repeat(5_000)))),
        ("long chain of calls", rule(&format!("self.s{} == ''", ".trim()".repeat(3_000)))),
        ("long chain of indexes", rule(&format!("self.a{} == ''", "[0]".repeat(3_000)))),
        ("long condition", rule(&format!("{}true", "true ? true : ".repeat(3_000)))),
        ("nested comprehensions", rule(&format!("{}true{}", "self.a.all(x, ".repeat(12), ")".repeat(12)))),
        ("long text", rule(&format!("self.s != '{}'", "x".repeat(50_000)))),
    ];
    for (number, (name, schema)) in schemas.into_iter().enumerate() {
        let body = definition(&format!("attacks{number}"), &schema);
        attacks.push(Attack::new(
            format!("definition: {name}"),
            ("POST", &format!("{DEFINITIONS}?dryRun=All")),
            JSON,
            body,
        ));
    }
    let versions = list(1_500, |at| {
        format!(
            r#"{{"name":"v{at}","served":true,"storage":false,"schema":{{"openAPIV3Schema":{{"type":"object","description":"{at}"}}}}}}"#
        )
    });
    let many_versions = definition("versions", r#"{"type":"object"}"#)
        .replace(r#""versions":["#, &format!(r#""versions":[{versions},"#));
    attacks.push(Attack::new(
        "definition: many versions",
        ("POST", &format!("{DEFINITIONS}?dryRun=All")),
        JSON,
        many_versions,
    ));
    let columns = list(3_000, |at| format!(r#"{{"name":"c{at}","type":"string","jsonPath":".spec.c{at}"}}"#));
    let many_columns = definition("columns", r#"{"type":"object"}"#)
        .replace(r#""served":true"#, &format!(r#""served":true,"additionalPrinterColumns":[{columns}]"#));
    attacks.push(Attack::new(
        "definition: many columns",
        ("POST", &format!("{DEFINITIONS}?dryRun=All")),
        JSON,
        many_columns,
    ));
    let object = |name: &str, spec: String| {
        let body = format!(
            r#"{{"apiVersion":"example.com/v1","kind":"victimsKind","metadata":{{"name":"v"}},"spec":{spec}}}"#
        );
        Attack::new(
            format!("custom object: {name}"),
            ("POST", "/apis/example.com/v1/victims?dryRun=All"),
            JSON,
            body,
        )
    };
    attacks.extend([
        object("long text against patterns", format!(r#"{{"text":"{}"}}"#, "abc".repeat(150_000))),
        object(
            "many texts against patterns",
            format!(r#"{{"nested":[{}]}}"#, list(10_000, |_| "\"abcabcabc\"".into())),
        ),
        object(
            "long texts against nested patterns",
            format!(r#"{{"nested":[{}]}}"#, list(10, |_| format!("\"{}\"", "abc".repeat(20_000)))),
        ),
        object(
            "empty items with many defaults",
            format!(r#"{{"filled":[{}]}}"#, list(30_000, |_| "{}".into())),
        ),
        object(
            "distinct keys",
            format!(r#"{{"keyed":[{}]}}"#, list(10_000, |at| format!(r#"{{"name":"n{at}"}}"#))),
        ),
        object("equal keys", format!(r#"{{"keyed":[{}]}}"#, list(10_000, |_| r#"{"name":"n"}"#.into()))),
        object("items without keys", format!(r#"{{"keyed":[{}]}}"#, list(10_000, |_| "{}".into()))),
        object("distinct set", format!(r#"{{"set":[{}]}}"#, list(10_000, |at| format!("\"s{at}\"")))),
        object("equal set", format!(r#"{{"set":[{}]}}"#, list(10_000, |_| "\"s\"".into()))),
        object("values that are not listed", format!(r#"{{"enum":[{}]}}"#, list(10_000, |_| "\"x\"".into()))),
        object("unknown fields", format!("{{{}}}", list(20_000, |at| format!("\"u{at}\":1")))),
    ]);
    let policy = |name: &str, expression: String| {
        let body = format!(
            r#"{{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{{"name":"p"}},
            "spec":{{"matchConstraints":{{"resourceRules":[{{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods"]}}]}},"validations":[{{"expression":"{expression}"}}]}}}}"#
        );
        Attack::new(format!("policy: {name}"), ("POST", POLICIES), JSON, body)
    };
    attacks.extend([
        policy("long sum", format!("{}1 > 0", "1+".repeat(5_000))),
        policy("long disjunction", format!("{}true", "false || ".repeat(5_000))),
        policy("deep parentheses", format!("{}true{}", "(".repeat(5_000), ")".repeat(5_000))),
        policy("deep maps", format!("{}1{} == 1", "{'a':".repeat(3_000), "}".repeat(3_000))),
        policy("long selection", format!("object{} == 1", ".a".repeat(5_000))),
        policy("nested comprehensions", format!("{}true{}", "[1,2,3].all(x, ".repeat(12), ")".repeat(12))),
        policy("broken", "(((((".repeat(5_000)),
        policy("deep types", format!("[1]{} == []", ".map(a, [[[[[[[[[[a]]]]]]]]]])".repeat(240))),
        policy("types of keys and values", format!("[1]{} == []", ".map(a, {a: a})".repeat(100))),
        policy("values in values", format!("[1]{} == []", ".map(a, [a, a])".repeat(100))),
    ]);
    attacks
}
