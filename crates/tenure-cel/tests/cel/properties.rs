//! Properties of all expressions.

use proptest::prelude::*;
use tenure_cel::{Decl, Env, Limits, Val, parse};
use tenure_value::Value;

/// Generates expressions, mostly well formed.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("1".to_string()),
        Just("-1".to_string()),
        Just("2u".to_string()),
        Just("1.5".to_string()),
        Just("-0.5e3".to_string()),
        Just("true".to_string()),
        Just("null".to_string()),
        Just("self".to_string()),
        Just("x".to_string()),
        Just(".self".to_string()),
        Just("b'\\xffa'".to_string()),
        "[a-z'\"\\\\\n\tä]{0,4}"
            .prop_map(|text| format!("'''{}'''", text.replace('\\', "\\\\").replace('\'', "\\'"))),
    ];
    leaf.prop_recursive(6, 48, 3, |inner| {
        let op = prop::sample::select(vec!["+", "-", "*", "/", "%", "<", "<=", "==", "!=", "in", "&&", "||"]);
        let name = prop::sample::select(vec![
            "a",
            "size",
            "namespace",
            "map",
            "all",
            "exists_one",
            "optMap",
            "filter",
        ]);
        prop_oneof![
            (inner.clone(), op, inner.clone()).prop_map(|(a, op, b)| format!("({a}) {op} {b}")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a}) ? ({b}) : {c}")),
            (inner.clone(), prop::sample::select(vec!["!", "-", "--", "!!!"]))
                .prop_map(|(a, op)| format!("{op}({a})")),
            (inner.clone(), name.clone()).prop_map(|(a, name)| format!("({a}).{name}")),
            (inner.clone(), name.clone()).prop_map(|(a, name)| format!("({a}).?{name}")),
            (inner.clone(), name.clone(), inner.clone())
                .prop_map(|(a, name, b)| format!("({a}).{name}(x, {b})")),
            (name, inner.clone()).prop_map(|(name, a)| format!("a.{name}({a})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[{b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[?{b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a}, ?{b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{{a}: {b}, ?'k': {a}}}")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("has(self.a) || Some.Type{{f: {a}, ?g: {b}}}")),
        ]
    })
}

/// Compiles and evaluates a text.
fn exercise(text: &str) {
    let env = Env::kubernetes().with_variable("self", Decl::dynamic()).with_variable("x", Decl::int());
    let Ok(program) = env.compile(text) else { return };
    let document: Value = r#"{"a":[1,"b",{"c":null}]}"#.parse().unwrap();
    let values = [Val::from_document(&document, None).unwrap(), Val::Int(3)];
    let first = program.eval(&values, Limits::new());
    let second = program.eval(&values, Limits::new());
    assert_eq!(first.cost, second.cost);
    assert_eq!(format!("{:?}", first.result), format!("{:?}", second.result));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn printed_expressions_parse_to_the_same_tree(text in expression()) {
        if let Ok(ast) = parse(&text) {
            let printed = ast.to_string();
            let again = parse(&printed);
            prop_assert_eq!(again.as_ref(), Ok(&ast), "{} as {}", text, printed);
            prop_assert_eq!(again.unwrap().to_string(), printed);
        }
    }

    #[test]
    fn well_formed_expressions_never_panic(text in expression()) {
        exercise(&text);
    }

    #[test]
    fn random_strings_of_cel_characters_never_panic(text in "[-a-z0-9 .,:?!'\"\\\\(){}\\[\\]+*/%<>=&|`ä\n]{0,60}") {
        exercise(&text);
    }

    #[test]
    fn arbitrary_strings_never_panic(text in any::<String>()) {
        exercise(&text);
    }
}
