//! Expressions meant to exhaust a resource: each is refused or stopped, quickly and without a crash.

use std::time::{Duration, Instant};
use tenure_cel::{Decl, Env, Error, Limits, Val, parse};
use tenure_value::Value;

fn env() -> Env {
    Env::kubernetes().with_variable("self", Decl::dynamic())
}

/// Compiles and evaluates an expression, and ignores the result.
fn run(expression: &str) -> Result<String, Error> {
    run_within(expression, Limits::new())
}

fn run_within(expression: &str, limits: Limits) -> Result<String, Error> {
    let program = env().compile(expression)?;
    let document = Value::object([
        ("s", Value::from("x".repeat(100_000))),
        ("a", Value::array((0..100_000).map(|_| Value::from("y")))),
        ("n", Value::array((0..1000).map(Value::from))),
    ]);
    let value = Val::from_document(&document, None)?;
    program.eval(&[value], limits).result.map(|value| value.type_name().to_string())
}

#[test]
fn long_and_deep_expressions_neither_crash_nor_take_long() {
    let start = Instant::now();
    for count in [100, 249, 251, 620, 1000, 20_000] {
        for expression in [
            vec!["1"; count].join("+"),
            vec!["1"; count].join("-"),
            format!("{}>0", vec!["1"; count].join("*")),
            vec!["true"; count].join("&&"),
            vec!["false"; count].join("||"),
            vec!["1 < 2 ? 1 "; count].join(": "),
            format!("self{}", "[0]".repeat(count)),
            format!("self{}", ".a".repeat(count)),
            format!("self{}", ".?a".repeat(count)),
            format!("' '{}", ".trim()".repeat(count)),
            format!("{}1{}", "(".repeat(count), ")".repeat(count)),
            format!("{}1{}", "[".repeat(count), "]".repeat(count)),
            format!("{}1{}", "{1:".repeat(count), "}".repeat(count)),
            format!("{}1{}", "size(".repeat(count), ")".repeat(count)),
            format!("{}1{}", "-(".repeat(count), ")".repeat(count)),
            format!("{}true{}", "!(".repeat(count), ")".repeat(count)),
            format!("{}1", "-".repeat(count)),
            format!("{}true", "!".repeat(count)),
            format!("{}true{}", "[1].all(x, ".repeat(count), ")".repeat(count)),
            format!("{}[1]{}", "[1].map(x, x > 0, ".repeat(count), ")".repeat(count)),
            format!("optional.of(1){}", ".optMap(x, x)".repeat(count)),
            format!("[1]{}", ".map(x, x)".repeat(count)),
            format!("a{}{{}}", ".b".repeat(count)),
            format!("[{}]", vec!["1"; count].join(",")),
            "(".repeat(count),
            "[".repeat(count),
            "{".repeat(count),
            "?:".repeat(count),
        ] {
            if let Ok(ast) = parse(&expression) {
                assert_eq!(parse(&ast.to_string()).as_ref(), Ok(&ast));
            }
            if let Err(Error::Compile(issues)) = run(&expression) {
                assert!(issues.to_string().starts_with("ERROR: <input>:"));
            }
        }
    }
    assert!(start.elapsed() < Duration::from_secs(60), "took {:?}", start.elapsed());
}

#[test]
fn depth_is_limited_where_kubernetes_limits_it() {
    for (count, fits) in [(250, true), (252, false)] {
        assert_eq!(parse(&vec!["1"; count].join("+")).is_ok(), fits, "{count} terms");
    }
    let error = parse(&vec!["1"; 620].join("+")).unwrap_err().to_string();
    assert!(error.starts_with("ERROR: <input>:1:502: expression recursion limit exceeded: 250\n"), "{error}");
    assert!(env().compile(&vec!["true"; 5000].join(" && ")).is_ok());
}

#[test]
fn work_is_charged_before_it_is_done() {
    for (expression, refused) in [
        // A hundred thousand separators of a hundred thousand characters each: ten gigabytes.
        ("self.a.join(self.s)", Error::CostLimit),
        ("lists.range(1000000000).size() > 0", Error::CostLimit),
        ("self.n.map(x, self.n.map(y, self.n.map(z, x)))", Error::CostLimit),
        ("self.n.all(x, self.n.all(y, self.n.all(z, z >= 0)))", Error::CostLimit),
        ("self.a.distinct().size() > 0", Error::CostLimit),
        ("sets.contains(self.a, self.a)", Error::CostLimit),
        ("self.s.replace('', self.s).size() > 0", Error::SizeLimit(Limits::new().bytes)),
        ("self.s.replace('x', self.s).size() > 0", Error::SizeLimit(Limits::new().bytes)),
        ("'%s%s%s%s'.format([self.a + self.a + self.a, self.a, self.a, self.a]) == ''", Error::CostLimit),
    ] {
        let start = Instant::now();
        match run(expression) {
            Err(error) => {
                assert!(error == refused || matches!(error, Error::SizeLimit(_)), "{expression}: {error}")
            }
            Ok(result) => assert!(expression.starts_with("'%s"), "{expression}: {result}"),
        }
        assert!(start.elapsed() < Duration::from_secs(10), "{expression} took {:?}", start.elapsed());
    }
    // The growth of doubling lists is bounded by memory, since doubling costs one step.
    let doubling = format!("[self.a]{}.size() > 0", ".map(x, x + x)".repeat(20));
    assert_eq!(run(&doubling), Err(Error::SizeLimit(Limits::new().bytes)));
    let texts = format!("[self.s]{}.size() > 0", ".map(x, x + x)".repeat(20));
    assert_eq!(run(&texts), Err(Error::CostLimit));
}

#[test]
fn exceeded_limits_are_not_absorbed() {
    for expression in [
        "self.n.all(x, self.n.all(y, self.n.all(z, true))) || true",
        "self.n.exists(x, lists.range(10000000) == [] || true)",
    ] {
        assert_eq!(run(expression), Err(Error::CostLimit), "{expression}");
    }
}

/// Each step contains the one before twice, so that a short expression stands for more values than there is memory.
#[test]
fn values_that_contain_others_many_times_are_counted() {
    // The usual limits are as good, and take longer to be reached.
    let limits = Limits { bytes: 8 << 20, scanned: 8 << 20, ..Limits::new() };
    let doubled =
        |list: &str, step: &str, count: usize| format!("{list}{}", format!(".map(a, {step})").repeat(count));
    for value in [
        doubled("[[1]]", "[a, a]", 60),
        doubled("[[self.s]]", "[a, a]", 60),
        doubled("[{'a': 1}]", "{'a': a, 'b': a}", 60),
        doubled("[[optional.of([1])]]", "[a, a]", 60),
    ] {
        for (expression, is_refused) in [
            (format!("{value} == {value}"), true),
            (format!("{value} in [{value}]"), true),
            (format!("[{value}].indexOf({value}) == 0"), true),
            (format!("sets.contains([{value}], [{value}])"), true),
            (format!("size([{value}, {value}].distinct()) == 1"), true),
            (format!("'%s'.format([{value}]) == ''"), true),
            (format!("{value}.flatten(100) == []"), !value.contains('{')),
            (format!("size({value}) == 1"), false),
        ] {
            let result = run_within(&expression, limits);
            assert_eq!(result.is_err(), is_refused, "{}: {result:?}", &expression[..40]);
        }
        let program = env().compile(&value).unwrap();
        let document = Value::object([("s", Value::from("x")), ("n", Value::array([Value::from(1)]))]);
        let made =
            program.eval(&[Val::from_document(&document, None).unwrap()], Limits::new()).result.unwrap();
        assert!(matches!(made.to_document(), Err(Error::SizeLimit(_))), "{value}");
    }
}

/// Loops nest values, and their types, far deeper than an expression is nested.
#[test]
fn values_and_types_are_nested_no_deeper_than_anything_that_goes_through_them() {
    let nested = |first: &str, open: &str, close: &str| {
        let step = format!("{}a{}", open.repeat(60), close.repeat(60));
        format!("[{first}]{}", format!(".map(a, {step})").repeat(60))
    };
    for (open, close) in [("[", "]"), ("{'a': ", "}"), ("optional.of(", ")"), ("{1: [", "]}")] {
        let typed = run(&nested("1", open, close)).unwrap_err().to_string();
        assert!(typed.contains("the type of the expression is nested too deeply"), "{typed}");
        let dynamic = run(&nested("dyn(1)", &format!("dyn({open}"), &format!("{close})")));
        let dynamic = dynamic.unwrap_err().to_string();
        assert!(dynamic.contains("nested more than 250 levels deep"), "{dynamic}");
    }
    // Types of keys and values, and those that follow from a comparison.
    let _ = run(&format!("[1]{} == []", ".map(a, {a: a})".repeat(120)));
    let empty = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let compared = (0..60).rev().fold("true".to_string(), |inner, at| {
        let (name, next) = (format!("a{at}"), format!("a{}", at + 1));
        format!("{name} == {empty} && [{name}{}].all({next}, {inner})", "[0]".repeat(99))
    });
    let _ = run(&format!("[[]].all(a0, {compared})"));
}
