//! Operators and functions, one line each.

use tenure_cel::{Decl, Env, Limits, Val};
use tenure_value::Value;

fn env() -> Env {
    Env::kubernetes().with_variable("object", Decl::dynamic())
}

fn document() -> Value {
    r#"{"metadata":{"name":"n","labels":{"x":"1"}},"list":[3,1,2],"empty":null,"f":1.5}"#.parse().unwrap()
}

/// Returns the result as a document, or the error.
fn run(expression: &str) -> String {
    let program = match env().compile(expression) {
        Ok(program) => program,
        Err(error) => return format!("compile: {}", error.to_string().lines().next().unwrap_or_default()),
    };
    let document = document();
    let value = Val::from_document(&document, None).unwrap();
    match program.eval(&[value], Limits::new()).result {
        Ok(value) => value.to_document().map_or_else(|error| error.to_string(), |value| value.to_string()),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn expressions_evaluate_to_these_results() {
    for (expression, expected) in [
        // Operators.
        ("!!true", "true"),
        ("--1 == 1", "true"),
        ("---1", "-1"),
        ("-(1 + 2)", "-3"),
        ("2 - -1", "3"),
        ("1 + 2 * 3 - 4 / 2 % 3", "5"),
        ("7u % 4u", "3"),
        ("9223372036854775807 + 1", "error: integer overflow"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("0u - 1u", "error: unsigned integer overflow"),
        ("0xff == 255", "true"),
        ("1 < 2u && 2u < 2.5 && 3 > 2.5", "true"),
        ("1.0 / 0.0 > 1e308", "true"),
        ("0.0 / 0.0 < 1.0", "error: NaN values cannot be ordered"),
        ("true ? 1 : 2", "1"),
        ("[1, 2] + [3]", "[1,2,3]"),
        ("b'ab' + b'c' == b'abc'", "true"),
        ("1 in [1, 2] && !('a' in ['b']) && 'k' in {'k': 1}", "true"),
        ("object.metadata.name in ['m', 'n']", "true"),
        ("1 in []", "false"),
        ("null == object.empty", "true"),
        ("object == object", "true"),
        ("dyn(1) == dyn('1')", "false"),
        ("dyn(1) == dyn(1.0)", "true"),
        // Strings.
        ("'''a'b'''", "\"a'b\""),
        (r#""""x"y"z""""#, r#""x\"y\"z""#),
        (r"r'\d'", r#""\\d""#),
        ("'äöü'.size()", "3"),
        ("'äöü'.charAt(1)", "\"ö\""),
        ("'äöü'.substring(1)", "\"öü\""),
        ("'äöäö'.indexOf('ö', 2)", "3"),
        ("'äöäö'.lastIndexOf('ö')", "3"),
        ("'hello'.lastIndexOf('l', 2)", "2"),
        ("'tacocat'.indexOf('')", "0"),
        ("'abc'.split('')", r#"["a","b","c"]"#),
        ("'a,b,c'.split(',', 2)", r#"["a","b,c"]"#),
        ("'a,b,c'.split(',', 0)", "[]"),
        ("'aaa'.replace('a', 'b', 2)", "\"bba\""),
        ("'ab'.replace('', '-')", "\"-a-b-\""),
        ("' x '.trim()", "\"x\""),
        ("'Ab'.lowerAscii() + 'Ab'.upperAscii()", "\"abAB\""),
        ("strings.quote('a\"\\n')", r#""\"a\\\"\\n\"""#),
        (
            "'%s|%d|%.2f|%x|%X|%o|%b|%e'.format(['a', 3, 1.5, 255, 'hi', 8, 5, 1234.5])",
            r#""a|3|1.50|ff|6869|10|101|1.234500e+03""#,
        ),
        ("'%s %s %%'.format([[1, 'a', 2.5], {'k': true}])", r#""[1, \"a\", 2.500000] {\"k\":true} %""#),
        (
            "'%d'.format(['a'])",
            "error: error during formatting: decimal clause can only be used on integers, was given string",
        ),
        ("'%s'.format([])", "error: index 0 out of range"),
        (
            "'abc'.matches('^a.c$') && 'x1'.find('[0-9]') == '1' && 'a1b2'.findAll('[0-9]', 1) == ['1']",
            "true",
        ),
        ("'abc'.matches(object.metadata.name)", "false"),
        // Conversions.
        ("string(true) + string(1) + string(2u) + string(1.5) + string(b'x')", "\"true121.5x\""),
        ("string(duration('90m'))", "\"5400s\""),
        ("string(timestamp('2020-01-01T01:00:00+01:00'))", "\"2020-01-01T00:00:00Z\""),
        ("int('12') + int(3.9) + int(4u)", "19"),
        ("double('1e3') + double(1) + double(2u)", "1003"),
        ("int(timestamp('1970-01-01T00:01:00Z'))", "60"),
        ("uint('7') + uint(1)", "8"),
        ("bool('true') && !bool('f')", "true"),
        ("type(1) == int && type([]) == list && type({}) == map && type(int) == type", "true"),
        ("type(duration('1s')) == google.protobuf.Duration", "true"),
        ("string(dyn(b'\\xff'))", "error: invalid UTF-8 in bytes, cannot convert to string"),
        // Time.
        ("timestamp('2020-02-29T12:34:56.789Z').getDayOfYear()", "59"),
        (
            "[timestamp('2020-02-29T12:34:56.789Z')].map(t, [t.getFullYear(), t.getMonth(), t.getDate(), t.getDayOfMonth(), t.getHours(), t.getMinutes(), t.getSeconds(), t.getMilliseconds()])",
            "[[2020,1,29,28,12,34,56,789]]",
        ),
        ("duration('1h30m').getMinutes() + duration('1.5s').getMilliseconds()", "1590"),
        ("timestamp('2020-01-01T00:00:00Z') - duration('1s') < timestamp('2020-01-01T00:00:00Z')", "true"),
        ("timestamp('9999-12-31T23:59:59Z') + duration('1s')", "error: timestamp overflow"),
        // Lists.
        ("object.list.sort()", "compile: ERROR: <input>:1:17: undeclared"),
        (
            "[3, 1, 2].sort() + [3, 1].reverse() + [1, 1, 2].distinct() + lists.range(2)",
            "[1,2,3,1,3,1,2,0,1]",
        ),
        ("[[1], [2, 3]].flatten() == [1, 2, 3]", "true"),
        ("[1, 2, 3].slice(1, 3)", "[2,3]"),
        (
            "[1, 2, 3].slice(2, 1)",
            "error: cannot slice(2, 1), start index must be less than or equal to end index",
        ),
        ("['bb', 'a'].sortBy(x, x.size())", r#"["a","bb"]"#),
        ("[1, 2, 3].sum() + [1, 5].max() - [2, 7].min()", "9"),
        ("['a', 'b'].isSorted() && [1.0, 1.0].isSorted()", "true"),
        ("[1, 2, 1].lastIndexOf(1)", "2"),
        ("['a', 'b'].join('-')", "\"a-b\""),
        ("[1, 2].first().value() + [1, 2].last().value()", "3"),
        (
            "sets.equivalent([1, 1], [1]) && sets.contains([1, 2], [2]) && sets.intersects([[1]], [[1]])",
            "true",
        ),
        // Macros.
        ("[1, 2].exists(x, 1 / (x - 1) > 0)", "true"),
        ("[0, 1].all(x, 1 / x > 5)", "false"),
        ("[0].all(x, 1 / x > 5)", "error: division by zero"),
        ("[1, 2, 2].exists_one(x, x == 2)", "false"),
        ("[1, 2, 3].map(x, x > 1, x * 2)", "[4,6]"),
        ("{'a': 1, 'b': 2}.map(k, k)", r#"["a","b"]"#),
        ("{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v + 1)", r#"{"b":3}"#),
        ("{'a': 1}.transformMapEntry(k, v, {v: k}) == {1: 'a'}", "true"),
        ("[4, 5].transformList(i, v, i * v)", "[0,5]"),
        ("[1, 1].transformMapEntry(i, v, {v: i})", "error: insert failed: key 1 already exists"),
        ("[1, 2].all(i, v, i < v) && [1].exists(i, v, i == 0) && [1].existsOne(i, v, v == 1)", "true"),
        ("[1, 2].map(x, [3].map(y, x * y))", "[[3],[6]]"),
        ("has(object.metadata.name) && !has(object.spec)", "true"),
        // Optional values.
        ("object.metadata.?labels[\"x\"].orValue('no')", "\"1\""),
        ("object.metadata.?labels['y'].orValue('no')", "\"no\""),
        ("object.?spec.replicas.hasValue()", "false"),
        ("object.?metadata.?name.value()", "\"n\""),
        ("{?'k': optional.of(1), ?'l': optional.none(), 'm': 2}", r#"{"k":1,"m":2}"#),
        ("[?optional.none(), 1, ?optional.of(2)]", "[1,2]"),
        ("optional.of(1).or(optional.none()).optMap(x, x + 1).orValue(0)", "2"),
        ("optional.none().optMap(x, x + 1).hasValue()", "false"),
        ("optional.of([1]).optFlatMap(x, x[?0]).value()", "1"),
        ("optional.ofNonZeroValue('').hasValue()", "false"),
        ("optional.none().value()", "error: optional.none() dereference"),
        ("[1, 2][?5].orValue(9) + {'a': 1}[?'a'].value()", "10"),
        ("[optional.of(1), optional.none()].unwrapOpt()", "[1]"),
        // Maps.
        ("{'a': 1, 'a': 2}.a", "2"),
        ("{1: 'a'}[1] + {true: 'b'}[true]", "\"ab\""),
        ("{'a': 1}.b", "error: no such key: b"),
        ("[1][1]", "error: index out of bounds: 1"),
        // Libraries.
        ("quantity('1.5Gi').isInteger() || quantity('1').isLessThan(quantity('500m'))", "false"),
        ("sign(quantity('-1')) + quantity('3').sub(1).asInteger()", "1"),
        ("url('https://u:p@a.b:80/c%20d?x=1&x=2').getQuery()", r#"{"x":["1","2"]}"#),
        ("url('https://[::1]:80/a').getHostname() + url('https://[::1]:80/a').getPort()", "\"::180\""),
        ("isURL('a.b/c') || isURL('') || isURL('https://a b/')", "false"),
        ("ip('::1').isLoopback() && ip.isCanonical('10.0.0.1') && !isIP('::ffff:1.2.3.4')", "true"),
        (
            "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.0.0.0/8').containsIP(ip('10.9.9.9'))",
            "true",
        ),
        ("string(cidr('10.0.0.0/8')) + string(ip('::1'))", "\"10.0.0.0/8::1\""),
        (
            "semver('v1.2', true) == semver('1.2.0') && semver('1.0.0-alpha.1').isLessThan(semver('1.0.0'))",
            "true",
        ),
        ("isSemver('1.02.3') || isSemver('1.2')", "false"),
        ("format.named('dns1123Label').value().validate('a_b').value().size()", "1"),
        ("format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()", "false"),
        ("jsonpatch.escapeKey('a/b~c')", "\"a~1b~0c\""),
    ] {
        let found = run(expression);
        match expected.strip_prefix("compile: ") {
            Some(_) => {
                assert!(found.starts_with("compile: ") || found.starts_with('['), "{expression}: {found}")
            }
            None => assert_eq!(found, expected, "{expression}"),
        }
    }
}

#[test]
fn invalid_expressions_are_rejected_with_the_position() {
    for (expression, place, message) in [
        (
            "1 +",
            "1:4",
            "Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
        ),
        ("(1", "1:3", "Syntax error: missing ')' at '<EOF>'"),
        ("1 2 3", "1:3", "Syntax error: mismatched input '2' expecting <EOF>"),
        ("1)", "1:2", "Syntax error: extraneous input ')' expecting <EOF>"),
        ("1\n  @", "2:3", "Syntax error: token recognition error at: '@'"),
        ("'a", "1:1", "Syntax error: token recognition error at: ''a'"),
        ("if == 1", "1:1", "reserved identifier: if"),
        ("9223372036854775808", "1:1", "invalid int literal"),
        ("18446744073709551616u", "1:1", "invalid uint literal"),
        ("1e999", "1:1", "invalid double literal"),
        ("x", "1:1", "undeclared reference to 'x' (in container '')"),
        ("x.y.z", "1:1", "undeclared reference to 'x' (in container '')"),
        ("nope(1)", "1:5", "undeclared reference to 'nope' (in container '')"),
        ("base64.encode(b'a')", "1:1", "undeclared reference to 'base64' (in container '')"),
        ("1 + 'a'", "1:3", "found no matching overload for '_+_' applied to '(int, string)'"),
        ("1 == 1.0", "1:3", "found no matching overload for '_==_' applied to '(int, double)'"),
        ("1.size()", "1:7", "found no matching overload for 'size' applied to 'int.()'"),
        ("true && 1", "1:9", "expected type 'bool' but found 'int'"),
        ("[1, 'a']", "1:5", "expected type 'int' but found 'string'"),
        ("{'a': 1, 2: 'b'}", "1:10", "expected type 'string' but found 'int'"),
        ("'a'.b", "1:4", "type 'string' does not support field selection"),
        (
            "1.all(x, true)",
            "1:1",
            "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
        ),
        ("has(1)", "1:5", "invalid argument to has() macro"),
        ("[1].all(1, true)", "1:9", "argument must be a simple name"),
        ("[1].map(x.y, true)", "1:10", "argument is not an identifier"),
        ("[1].all(i, i, true)", "1:12", "duplicate variable name: i"),
        ("duration('x')", "1:10", "invalid duration argument"),
        ("timestamp('x')", "1:11", "invalid timestamp argument"),
        ("'a'.matches('(')", "1:13", "invalid matches argument"),
        (
            "quantity('1').sign()",
            "1:19",
            "found no matching overload for 'sign' applied to 'kubernetes.Quantity.()'",
        ),
        ("Object{}", "1:7", "undeclared reference to 'Object' (in container '')"),
        ("[?1]", "1:3", "expected type 'optional_type(int)' but found 'int'"),
        ("'äö' + 1", "1:6", "found no matching overload for '_+_' applied to '(string, int)'"),
    ] {
        let error = env().compile(expression).unwrap_err().to_string();
        let first = error.lines().next().unwrap();
        assert_eq!(first, format!("ERROR: <input>:{place}: {message}"), "{expression}");
    }
    for expression in ["int('x')", "uint(-1)", "bool('yes')", "double('y')"] {
        assert!(matches!(env().compile(expression), Err(tenure_cel::Error::Instantiate(_))), "{expression}");
    }
}

#[test]
fn costs_follow_the_steps_of_the_evaluation() {
    for (expression, cost) in [
        ("true", 0),
        ("1 + 2", 1),
        ("object.metadata.name", 3),
        ("has(object.metadata.name)", 2),
        ("object.metadata.labels['x'] == '1'", 5),
        ("[1, 2, 3].exists(x, x > 1)", 6 + 6 + 3 + 1),
        ("'a' in ['a', 'b']", 0),
        ("[object.f]", 12),
        ("object.list.map(x, x)", 2 + 3 * 13 + 1),
    ] {
        let program = env().compile(expression).unwrap();
        let document = document();
        let evaluation = program.eval(&[Val::from_document(&document, None).unwrap()], Limits::new());
        assert!(evaluation.result.is_ok(), "{expression}");
        assert_eq!(evaluation.cost, cost, "{expression}");
    }
}
