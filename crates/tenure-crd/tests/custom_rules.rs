//! Rules of custom resources: variables, messages, costs, and which rules a definition may have.

use tenure_crd::{Definition, Profile, check_create};
use tenure_profile::KubernetesVersion;
use tenure_value::Value;

fn definition(schema: &str) -> Value {
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"widgets.example.com"}},
        "spec":{{"group":"example.com","scope":"Namespaced","names":{{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"}},
        "versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{{"type":"object","properties":{{"spec":{schema}}}}}}}}}]}}}}"#
    )
    .parse()
    .unwrap()
}

fn object(spec: &str) -> Value {
    format!(r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"w","namespace":"n"}},"spec":{spec}}}"#)
        .parse()
        .unwrap()
}

/// The fields and messages of errors.
fn wrong(vec: Vec<tenure_meta::FieldError>) -> Vec<String> {
    vec.into_iter().map(|cause| format!("{}: {}", cause.path, cause.message)).collect()
}

fn create(schema: &str, spec: &str) -> Vec<String> {
    let definition = definition(schema);
    // Results of functions on literals have no declared size, so many costs cannot be estimated.
    let mut found = wrong(check_create(&definition, Profile::kubernetes()));
    found.retain(|found| !found.contains("rule cost"));
    assert_eq!(found, Vec::<String>::new(), "{schema}");
    wrong(
        Definition::read(&definition, Profile::kubernetes()).unwrap().versions[0]
            .validate_create(&object(spec)),
    )
}

fn update(schema: &str, old: &str, new: &str) -> Vec<String> {
    update_with_warnings(schema, old, new).0
}

/// The errors and the warnings of an update.
fn update_with_warnings(schema: &str, old: &str, new: &str) -> (Vec<String>, Vec<String>) {
    let definition = Definition::read(&definition(schema), Profile::kubernetes()).unwrap();
    let mut warnings = Vec::new();
    let errors = definition.versions[0].validate_update(&object(new), &object(old), &mut warnings);
    (wrong(errors), warnings)
}

fn schema_with(rule: &str) -> String {
    let rule = Value::from(rule);
    format!(
        r#"{{"type":"object","x-kubernetes-validations":[{{"rule":{rule}}}],"properties":{{
        "i":{{"type":"integer"}},"n":{{"type":"number"}},"s":{{"type":"string","maxLength":100}},"b":{{"type":"boolean"}},"ios":{{"x-kubernetes-int-or-string":true}},
        "l":{{"type":"array","maxItems":20,"items":{{"type":"integer"}}}},"set":{{"type":"array","maxItems":20,"items":{{"type":"string","maxLength":20}},"x-kubernetes-list-type":"set"}},
        "km":{{"type":"array","maxItems":20,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{{"type":"object","required":["name"],"properties":{{"name":{{"type":"string","maxLength":20}},"v":{{"type":"integer"}}}}}}}},
        "m":{{"type":"object","maxProperties":20,"additionalProperties":{{"type":"string","maxLength":20}}}},"o":{{"type":"object","properties":{{"a-b":{{"type":"integer"}},"namespace":{{"type":"string","maxLength":20}}}}}},
        "t":{{"type":"string","format":"date-time"}},"d":{{"type":"string","format":"duration"}},"y":{{"type":"string","format":"byte","maxLength":20}},"nu":{{"type":"string","nullable":true,"maxLength":5}}
        }}}}"#
    )
}

const SPEC: &str = r#"{"i":3,"n":2,"s":"hello","b":true,"ios":"50%","l":[1,2,3],"set":["a","b"],"km":[{"name":"x","v":1},{"name":"y","v":2}],
    "m":{"k":"v","a.b":"c"},"o":{"a-b":7,"namespace":"ns"},"t":"2024-01-02T03:04:05Z","d":"1h30m","y":"aGk=","nu":null}"#;

#[test]
fn rules_have_the_types_of_the_schema() {
    for rule in [
        "self.i == 3 && self.i + 1 > 3 && self.i % 2 == 1 && -self.i < 0",
        "self.n == 2.0 && self.n / 4.0 == 0.5",
        "self.s.startsWith('he') && self.s.endsWith('lo') && self.s.contains('ell') && self.s.matches('^h.*o$')",
        "self.s.size() == 5 && size(self.s) == 5 && self.s + '!' == 'hello!'",
        "self.b || self.i == 0",
        "self.b ? self.i == 3 : false",
        "type(self.ios) == string && type(self.i) == int && type(self.l) == list && type(self.ios) != int",
        "self.l.all(x, x > 0) && self.l.exists(x, x == 2) && self.l.exists_one(x, x == 3)",
        "self.l.map(x, x * 2) == [2, 4, 6] && self.l.filter(x, x > 1).size() == 2",
        "self.l.map(x, x > 1, x + 1) == [3, 4]",
        "self.l.sum() == 6 && self.l.isSorted() && self.l.min() == 1 && self.l.max() == 3 && self.l.indexOf(2) == 1",
        "2 in self.l && !(7 in self.l) && self.l[0] == 1",
        "self.set == ['b', 'a']",
        "self.km.exists(e, e.name == 'y' && e.v == 2)",
        "self.m.k == 'v' && self.m['a.b'] == 'c' && 'k' in self.m && self.m.all(k, self.m[k] != '')",
        "self.o.a__dash__b == 7 && self.o.__namespace__ == 'ns'",
        "has(self.i) && !has(self.nu) && has(self.o.a__dash__b)",
        "self.t < timestamp('2025-01-01T00:00:00Z') && self.t.getFullYear() == 2024",
        "self.d == duration('90m') && self.d > duration('1h')",
        "self.y == b'hi'",
        "self.?nu.orValue('none') == 'none' && self.?s.hasValue()",
        "self.s.split('l').size() == 3 && self.s.upperAscii() == 'HELLO' && self.s.substring(1, 3) == 'el'",
        "quantity('1Gi').isGreaterThan(quantity('1Mi')) && isQuantity('5')",
        "isIP('10.0.0.1') && cidr('10.0.0.0/8').containsIP('10.1.2.3')",
        "isURL('https://example.com') && url('https://example.com:80').getHost() == 'example.com:80'",
        "sets.contains(self.set, ['a'])",
        "'a%d'.format([self.i]) == 'a3'",
        "int('3') == 3 && string(3) == '3' && double(self.i) == 3.0",
        "self.l.exists(x, x / 0 == 1 || x == 1)",
        "{'a': 1}.a == 1 && dyn(1) == 1",
    ] {
        assert_eq!(create(&schema_with(rule), SPEC), Vec::<String>::new(), "{rule}");
    }
}

/// The libraries documented by Kubernetes, each function at least once.
#[test]
fn rules_have_the_documented_functions() {
    for rule in [
        // Lists.
        "[1, 2, 2].isSorted() && [1, 2].sum() == 3 && [1, 2].min() == 1 && [1.5, 2.0].max() == 2.0",
        "['a', 'b', 'a'].indexOf('a') == 0 && ['a', 'b', 'a'].lastIndexOf('a') == 2",
        "[1, 2, 3].slice(1, 3) == [2, 3] && [[1], [2]].flatten() == [1, 2] && [1, 1, 2].distinct() == [1, 2]",
        "[1, 2].reverse() == [2, 1] && [2, 1].sort() == [1, 2] && lists.range(3) == [0, 1, 2]",
        // Strings and regular expressions.
        "'abc'.charAt(1) == 'b' && 'abcb'.indexOf('b') == 1 && 'abcb'.lastIndexOf('b') == 3 && 'abcb'.indexOf('b', 2) == 3",
        "['a', 'b'].join(',') == 'a,b' && 'A'.lowerAscii() == 'a' && 'a-b'.replace('-', '+') == 'a+b' && ' a '.trim() == 'a'",
        "'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'abc'.substring(1) == 'bc' && 'aXbX'.replace('X', '', 1) == 'abX'",
        "'abc 123'.find('[0-9]+') == '123' && '1 2 3'.findAll('[0-9]', 2) == ['1', '2']",
        "'%s is %d or %.1f'.format(['a', 1, 2.5]) == 'a is 1 or 2.5'",
        // URLs, IP addresses and networks.
        "url('https://a.com:80/p?q=1').getScheme() == 'https' && url('https://a.com:80/p').getPort() == '80'",
        "url('https://a.com/p').getHostname() == 'a.com' && url('https://a.com/p q').getEscapedPath() == '/p%20q'",
        "url('https://a.com/?k=v').getQuery()['k'] == ['v'] && !isURL('../a')",
        "ip('127.0.0.1').isLoopback() && ip('::1').family() == 6 && ip.isCanonical('::1') && !isIP('300.0.0.1')",
        "ip('0.0.0.0').isUnspecified() && ip('8.8.8.8').isGlobalUnicast() && ip('224.0.0.1').isLinkLocalMulticast()",
        "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && cidr('10.0.0.0/8').prefixLength() == 8",
        "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.0.0.1/8').ip() == ip('10.0.0.1') && isCIDR('::/0')",
        // Quantities and versions.
        "quantity('50k').add(quantity('1k')).compareTo(quantity('51k')) == 0 && quantity('1.5').isInteger() == false",
        "quantity('3').asInteger() == 3 && sign(quantity('-1')) == -1 && quantity('2').sub(1) == quantity('1')",
        "quantity('1500m').asApproximateFloat() == 1.5 && quantity('1').isLessThan(quantity('2'))",
        "semver('1.2.3').major() == 1 && semver('1.2.3').isLessThan(semver('1.10.0')) && isSemver('1.0.0-rc.1')",
        "semver('v1.0', true).minor() == 0 && semver('1.0.0').compareTo(semver('1.0.0')) == 0 && !isSemver('1.0')",
        // Formats.
        "!format.dns1123Label().validate('a-b').hasValue() && format.dns1123Label().validate('A_b').hasValue()",
        "format.named('uuid').hasValue() && !format.named('nope').hasValue()",
        // Optional values.
        "optional.of(1).value() == 1 && !optional.none().hasValue() && optional.ofNonZeroValue(0).orValue(5) == 5",
        "self.?s.optMap(x, x.size()).orValue(0) == 5 && self.?nu.optMap(x, x.size()).orValue(0) == 0",
        "self.?o.optFlatMap(x, x.?a__dash__b).orValue(0) == 7 && optional.none().or(optional.of(2)).value() == 2",
        "self.m[?'k'].hasValue() && !self.m[?'z'].hasValue() && {?'a': self.?nu} == {}",
        // Sets and mathematics.
        "sets.equivalent([1, 2], [2, 1, 1]) && sets.intersects([1], [1, 2]) && !sets.contains([1], [2])",
        // Comprehensions over two variables.
        "self.l.all(i, v, v == i + 1) && self.m.all(k, v, k != '' && v != '')",
        "self.m.exists(k, v, k == 'k' && v == 'v') && self.l.existsOne(i, v, i == 0 && v == 1) && !self.l.exists(i, v, i == v)",
        "self.l.transformList(i, v, i * v) == [0, 2, 6] && self.l.transformList(i, v, i > 0, v) == [2, 3]",
        "self.m.transformMap(k, v, v + '!') == {'k': 'v!', 'a.b': 'c!'} && self.m.transformMap(k, v, k == 'k', v) == {'k': 'v'}",
        "self.m.transformMapEntry(k, v, {v: k}) == {'v': 'k', 'c': 'a.b'}",
        // Times.
        "self.t + duration('1h') > self.t && self.t - self.t == duration('0s') && duration('90m').getHours() == 1",
        "self.t.getMonth() == 0 && self.t.getHours('+01:00') == 4 && timestamp('2024-01-02T03:04:05Z') == self.t",
        "self.t.getHours('Europe/Berlin') == 4 && self.t.getDate('America/New_York') == 1 && self.t.getDate() == 2",
        "timestamp('2024-07-02T03:04:05Z').getHours('Europe/Berlin') == 5 && self.t.getMinutes('Asia/Kolkata') == 34",
        // Sorting by a key.
        "self.km.sortBy(x, -x.v).map(x, x.name) == ['y', 'x'] && self.l.sortBy(x, x % 2 == 1) == [2, 1, 3]",
        "self.set.sortBy(x, x)[0] == 'a' && [].sortBy(x, x) == [] && [duration('2s'), duration('1s')].sortBy(x, x)[0] == duration('1s')",
        "uint(1) == 1u && bytes('a') == b'a' && bool('true') && string(b'a') == 'a' && 1 < 2.5 && type(1) == int",
    ] {
        assert_eq!(create(&schema_with(rule), SPEC), Vec::<String>::new(), "{rule}");
    }
}

#[test]
fn a_violated_rule_reports_its_own_message() {
    let rule = |extra: &str| {
        format!(
            r#"{{"type":"object","properties":{{"a":{{"type":"integer"}},"b":{{"type":"integer"}}}},"x-kubernetes-validations":[{{"rule":"self.a < self.b"{extra}}}]}}"#
        )
    };
    let spec = r#"{"a":2,"b":1}"#;
    for (extra, expected) in [
        ("", "spec: Invalid value: failed rule: self.a < self.b"),
        (r#","message":"a below b""#, "spec: Invalid value: a below b"),
        (r#","messageExpression":"'a is ' + string(self.a)""#, "spec: Invalid value: a is 2"),
        (r#","message":"plain","messageExpression":"self.c""#, "spec: Invalid value: plain"),
        (r#","message":"no","reason":"FieldValueForbidden""#, "spec: Forbidden: no"),
        (r#","message":"no","reason":"FieldValueRequired","fieldPath":".b""#, "spec.b: Required value: no"),
    ] {
        let definition = Definition::read(&definition(&rule(extra)), Profile::kubernetes()).unwrap();
        assert_eq!(wrong(definition.versions[0].validate_create(&object(spec))), [expected], "{extra}");
    }
    let missing = create(&rule(""), r#"{"a":1}"#);
    assert_eq!(missing, ["spec: Invalid value: \"object\": no such key: b evaluating rule: self.a < self.b"]);
}

#[test]
fn transition_rules_compare_with_the_old_value() {
    let immutable = r#"{"type":"object","properties":{"a":{"type":"string","x-kubernetes-validations":[{"rule":"self == oldSelf","message":"a stays as it is"}]}}}"#;
    assert_eq!(create(immutable, r#"{"a":"1"}"#), Vec::<String>::new());
    assert_eq!(
        update(immutable, r#"{"a":"1"}"#, r#"{"a":"2"}"#),
        ["spec.a: Invalid value: \"2\": a stays as it is"]
    );
    assert_eq!(update(immutable, r#"{"a":"1"}"#, r#"{"a":"1"}"#), Vec::<String>::new());
    assert_eq!(update(immutable, "{}", r#"{"a":"2"}"#), Vec::<String>::new());
    let keyed = r#"{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],
        "properties":{"name":{"type":"string"},"v":{"type":"integer","x-kubernetes-validations":[{"rule":"self >= oldSelf"}]}}}}}}"#;
    let old = r#"{"l":[{"name":"a","v":5},{"name":"b","v":1}]}"#;
    assert_eq!(
        update(keyed, old, r#"{"l":[{"name":"b","v":2},{"name":"a","v":4}]}"#),
        ["spec.l[1].v: Invalid value: 4: failed rule: self >= oldSelf"]
    );
    let optional = r#"{"type":"object","properties":{"a":{"type":"integer","x-kubernetes-validations":[{"rule":"oldSelf.hasValue() ? self > oldSelf.value() : self == 1","optionalOldSelf":true}]}}}"#;
    assert_eq!(create(optional, r#"{"a":1}"#), Vec::<String>::new());
    assert_eq!(create(optional, r#"{"a":2}"#).len(), 1);
    assert_eq!(update(optional, r#"{"a":1}"#, r#"{"a":2}"#), Vec::<String>::new());
}

/// Items of atomic lists and sets have no old value; items of keyed lists and values of maps do.
#[test]
fn transition_rules_need_values_that_can_be_matched() {
    let rule = r#""x-kubernetes-validations":[{"rule":"self == oldSelf"}]"#;
    let object = format!(
        r#"{{"type":"object","required":["name"],"properties":{{"name":{{"type":"string","maxLength":9}},"v":{{"type":"integer",{rule}}}}}}}"#
    );
    for (schema, may_be) in [
        (format!(r#"{{"type":"array","maxItems":9,"items":{{"type":"integer"}},{rule}}}"#), true),
        (format!(r#"{{"type":"array","maxItems":9,"items":{{"type":"integer",{rule}}}}}"#), false),
        (
            format!(
                r#"{{"type":"array","maxItems":9,"x-kubernetes-list-type":"set","items":{{"type":"integer",{rule}}}}}"#
            ),
            false,
        ),
        (format!(r#"{{"type":"array","maxItems":9,"items":{object}}}"#), false),
        (
            format!(
                r#"{{"type":"array","maxItems":9,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{object}}}"#
            ),
            true,
        ),
        (
            format!(
                r#"{{"type":"object","maxProperties":9,"additionalProperties":{{"type":"integer",{rule}}}}}"#
            ),
            true,
        ),
        (
            format!(
                r#"{{"type":"array","maxItems":9,"items":{{"type":"object","maxProperties":9,"additionalProperties":{{"type":"integer",{rule}}}}}}}"#
            ),
            false,
        ),
    ] {
        let found = wrong(check_create(
            &definition(&format!(r#"{{"type":"object","properties":{{"x":{schema}}}}}"#)),
            Profile::kubernetes(),
        ));
        assert_eq!(found.is_empty(), may_be, "{schema}: {found:?}");
        assert!(found.iter().all(|fault| fault.contains("uncorrelatable")), "{found:?}");
    }
    let map = format!(
        r#"{{"type":"object","properties":{{"m":{{"type":"object","maxProperties":9,"additionalProperties":{{"type":"integer",{rule}}}}}}}}}"#
    );
    assert_eq!(
        update(&map, r#"{"m":{"a":1,"b":1}}"#, r#"{"m":{"a":2,"c":5}}"#),
        ["spec.m[a]: Invalid value: 2: failed rule: self == oldSelf"]
    );
}

#[test]
fn unchanged_values_that_violate_a_rule_are_warned_of() {
    let schema = r#"{"type":"object","properties":{"a":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 0","message":"above zero"}]},
        "l":{"type":"array","items":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 0"}]}},"s":{"type":"string"},
        "e":{"type":"string","x-kubernetes-validations":[{"rule":"int(self) > 0"}]}}}"#;
    let warned =
        ["spec.a: Invalid value: -1: above zero", "spec.l[0]: Invalid value: -2: failed rule: self > 0"];
    for (old, new, errors, warnings) in [
        (r#"{"a":-1,"l":[-2,1]}"#, r#"{"a":-1,"l":[-2,1],"s":"x"}"#, vec![], warned.to_vec()),
        // The items of an atomic list are as unchanged as the list.
        (r#"{"a":1,"l":[-2]}"#, r#"{"a":1,"l":[-2,1]}"#, vec![warned[1]], vec![]),
        (r#"{"a":-1}"#, r#"{"a":-2}"#, vec!["spec.a: Invalid value: -2: above zero"], vec![]),
        // A rule that cannot be evaluated is an error, whatever changed.
        (
            r#"{"e":"x"}"#,
            r#"{"e":"x","s":"y"}"#,
            vec![
                "spec.e: Invalid value: \"string\": type conversion error from 'string' to 'int' evaluating rule: int(self) > 0",
            ],
            vec![],
        ),
    ] {
        let found = update_with_warnings(schema, old, new);
        assert_eq!(
            found,
            (
                errors.into_iter().map(String::from).collect(),
                warnings.into_iter().map(String::from).collect()
            ),
            "{new}"
        );
    }
}

#[test]
fn sets_and_keyed_lists_are_equal_as_in_the_version() {
    for (rule, in_1_36, in_1_37) in [
        ("self.set == ['b', 'a']", true, true),
        ("self.set == ['a', 'a']", true, false),
        ("self.set == ['a', 'c']", false, false),
        ("self.set + ['c'] == ['c', 'b', 'a']", true, true),
        // The left list says how they are compared.
        ("['b', 'a'] == self.set", false, false),
        ("self.set in [['b', 'a']]", true, true),
    ] {
        let definition = definition(&schema_with(rule));
        let holds = |version| {
            let definition = Definition::read(&definition, Profile::kubernetes().at(version)).unwrap();
            definition.versions[0].validate_create(&object(SPEC)).is_empty()
        };
        let found = [holds(KubernetesVersion::V1_36), holds(KubernetesVersion::V1_37)];
        assert_eq!(found, [in_1_36, in_1_37], "{rule}");
    }
}

#[test]
fn unchanged_values_are_not_validated() {
    let schema = r#"{"type":"object","properties":{"a":{"type":"integer","maximum":5},"b":{"type":"string"},"r":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 0"}]},
        "at":{"type":"array","items":{"type":"integer","maximum":5}},
        "l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string","maxLength":1},"v":{"type":"integer"}}}}}}"#;
    let old = r#"{"a":9,"r":-1,"b":"x","at":[9],"l":[{"name":"long","v":1},{"name":"c"}]}"#;
    assert_eq!(update(schema, old, &old.replace("\"x\"", "\"y\"")), Vec::<String>::new());
    assert_eq!(
        update(schema, old, &old.replace("9,\"r\"", "8,\"r\"")).len(),
        1,
        "an error that leaves rules applicable does not keep them from being checked"
    );
    assert_eq!(
        update(schema, old, &old.replace("-1", "-2")),
        ["spec.r: Invalid value: -2: failed rule: self > 0"]
    );
    // Items of a list without keys have no old value; those of a keyed list do.
    assert_eq!(
        update(schema, old, &old.replace("[9]", "[9,1]"))[0],
        "spec.at[0]: Invalid value: 9: spec.at[0] in body should be less than or equal to 5"
    );
    assert_eq!(update(schema, old, &old.replace("\"v\":1", "\"v\":2")), Vec::<String>::new());
}

#[test]
fn a_rule_that_costs_too_much_is_stopped() {
    let schema = r#"{"type":"object","properties":{"l":{"type":"array","maxItems":725,"items":{"type":"integer"}}},
        "x-kubernetes-validations":[{"rule":"self.l.all(x, self.l.all(y, y == x))"},{"rule":"true"}]}"#;
    let list = |count: usize| format!(r#"{{"l":{}}}"#, Value::array(vec![Value::Int(20); count]));
    assert_eq!(create(schema, &list(2)), Vec::<String>::new());
    let found = create(schema, &list(725));
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("call cost exceeds limit for rule: self.l.all(x"), "{found:?}");
}

#[test]
fn errors_of_rules_have_a_path() {
    for (rule, expected) in [
        ("self.z == 100", "ERROR: <input>:1:5: undefined field 'z'\n | self.z == 100\n | ....^"),
        (
            "self.b &&\n  self.s == 1",
            "ERROR: <input>:2:10: found no matching overload for '_==_' applied to '(string, int)'\n |   self.s == 1\n | .........^",
        ),
        (
            "self.s == 'ä' && nope",
            "ERROR: <input>:1:18: undeclared reference to 'nope' (in container '')\n | self.s == 'ä' && nope\n | ...........．.....^",
        ),
        (
            "self.m.all(k, 1, true)",
            "ERROR: <input>:1:15: argument must be a simple name\n | self.m.all(k, 1, true)\n | ..............^",
        ),
        ("self.l.all(x, self.s == x)", "ERROR: <input>:1:22: found no matching overload"),
        ("self.s.size() == 1)", "ERROR: <input>:1:19: Syntax error: "),
        ("self.s == ", "ERROR: <input>:1:11: Syntax error: "),
    ] {
        // A rule with line breaks needs a message.
        let schema = schema_with(rule).replacen("\"rule\"", "\"message\":\"m\",\"rule\"", 1);
        let found = wrong(check_create(&definition(&schema), Profile::kubernetes()));
        let place = found.iter().find_map(|found| found.split_once("compilation failed: "));
        assert!(place.is_some_and(|(_, told)| told.starts_with(expected)), "{rule}: {found:#?}");
    }
}

#[test]
fn definitions_with_invalid_rules_are_rejected() {
    for (rule, expected) in [
        ("self.z == 100", "undefined field 'z'"),
        ("self = 42", "Syntax error"),
        ("self.i ==", "Syntax error"),
        ("self.i == 'a'", "found no matching overload for '_==_' applied to '(int, string)'"),
        ("self.i", "must evaluate to a bool"),
        ("nope == 1", "undeclared reference to 'nope'"),
        ("self.s.nope()", "undeclared reference to 'nope'"),
        ("self.i.all(x, x)", "cannot be range of a comprehension"),
        ("", "rule is not specified"),
        ("self.s.startsWith(1)", "found no matching overload for 'startsWith' applied to 'string.(int)'"),
        ("self.l.exists(x, x == 'a')", "found no matching overload for '_==_' applied to '(int, string)'"),
        ("'a' in self.l", "found no matching overload for '@in' applied to '(string, list(int))'"),
        ("self.l['a'] == 1", "found no matching overload for '_[_]' applied to '(list(int), string)'"),
        ("self.o['a'] == 1", "found no matching overload for '_[_]' applied to '(object, string)'"),
        ("self.t == '2024'", "found no matching overload for '_==_' applied to '(timestamp, string)'"),
        (
            "self.t + self.t > self.t",
            "found no matching overload for '_+_' applied to '(timestamp, timestamp)'",
        ),
        ("self.l < [1]", "found no matching overload for '_<_' applied to '(list(int), list(int))'"),
        ("size(self.i) == 1", "found no matching overload for 'size' applied to '(int)'"),
        ("url(self.i).getHost() == ''", "found no matching overload for 'url' applied to '(int)'"),
        ("url('a').getPort() == 80", "found no matching overload for '_==_' applied to '(string, int)'"),
        ("cidr('10.0.0.0/8').containsIP(1)", "applied to 'net.CIDR.(int)'"),
        ("quantity('1').isLessThan(1)", "applied to 'kubernetes.Quantity.(int)'"),
        ("sets.contains([1], 2)", "found no matching overload for 'sets.contains'"),
        ("math.nope(1) == 1", "undeclared reference to 'math'"),
        ("self.m.all(k, 1, true)", "argument must be a simple name"),
        ("self.m.all(k, v, v == 1)", "found no matching overload for '_==_' applied to '(string, int)'"),
        ("self.l.transformList(i, v, i + v) == ['a']", "found no matching overload for '_==_' applied to"),
        (
            "self.?s.optMap(x, x + 1).hasValue()",
            "found no matching overload for '_+_' applied to '(string, int)'",
        ),
        ("type(self.ios) == 'string'", "found no matching overload for '_==_' applied to '(type, string)'"),
        ("self.b && self.i", "expected type 'bool' but found 'int'"),
        (
            "self.l.sortBy(x, [x]) == self.l",
            "found no matching overload for '@sortByAssociatedKeys' applied to",
        ),
        ("self.i.sortBy(x, x) == 1", "cannot be range of a comprehension"),
    ] {
        let found = wrong(check_create(&definition(&schema_with(rule)), Profile::kubernetes()));
        assert_eq!(found.len(), 1, "{rule}: {found:?}");
        assert!(found[0].contains(expected), "{rule}: {found:?}");
        assert!(
            found[0].starts_with(
                "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: "
            ),
            "{found:?}"
        );
    }
    let expensive = r#"{"type":"object","properties":{"x":{"type":"array","items":{"type":"array","items":{"type":"string"},"x-kubernetes-validations":[{"rule":"self.all(s, s == 'string constant')"}]}}}}"#;
    let found = wrong(check_create(&definition(expensive), Profile::kubernetes()));
    assert!(
        found.iter().any(|fault| fault.contains("exceeds budget by factor of more than 100x")),
        "{found:?}"
    );
    for (written, place, expected) in [
        (
            r#""rule":"self.i > 0","optionalOldSelf":true"#,
            "optionalOldSelf",
            "may not be set if oldSelf is not used",
        ),
        (r#""rule":"self.i > 0","reason":"Nope""#, "reason", "Unsupported value"),
        (r#""rule":"self.i > 0","fieldPath":"a b""#, "fieldPath", "must be a valid path"),
        (r#""rule":"self.i > 0","fieldPath":".nope""#, "fieldPath", "must be a valid path"),
        (r#""rule":"self.i > 0","message":" ""#, "message", "must be non-empty if specified"),
        (r#""rule":"self.i > 0","message":"a\nb""#, "message", "must not contain line breaks"),
        (r#""rule":"self.i\n> 0""#, "message", "message must be specified if rule contains line breaks"),
        (r#""rule":"self.i > 0","messageExpression":"1""#, "messageExpression", "must evaluate to a string"),
        (r#""rule":"self.i > 0","messageExpression":"self.z""#, "messageExpression", "undefined field 'z'"),
    ] {
        let schema = format!(
            r#"{{"type":"object","x-kubernetes-validations":[{{{written}}}],"properties":{{"i":{{"type":"integer"}}}}}}"#
        );
        let found = wrong(check_create(&definition(&schema), Profile::kubernetes()));
        let place = format!("x-kubernetes-validations[0].{place}: ");
        assert_eq!(found.len(), 1, "{written}: {found:?}");
        assert!(found[0].contains(&place) && found[0].contains(expected), "{written}: {found:?}");
    }
    let unfindable = r#"{"type":"object","properties":{"x":{"type":"array","maxItems":5,"items":{"type":"string","maxLength":5,"x-kubernetes-validations":[{"rule":"self == oldSelf"}]}}}}"#;
    let found = wrong(check_create(&definition(unfindable), Profile::kubernetes()));
    assert!(found.len() == 1 && found[0].contains("uncorrelatable"), "{found:?}");
}

#[test]
fn rules_on_large_values_are_stopped() {
    let text = "a".repeat(1 << 20);
    let list = Value::array((0..20_000).map(Value::Int));
    let spec = Value::object([("l", list), ("s", Value::from(text.as_str())), ("y", Value::from(text))]);
    for rule in [
        "self.l.all(x, !self.l.exists(y, y == -1))",
        "self.l.all(x, !self.s.contains('zzzz'))",
        "self.l.all(x, !self.s.matches('(a|b)*c'))",
        "self.l.all(x, size(self.y) > 0)",
        "self.l.all(x, sets.contains(self.l, self.l))",
        "self.l.map(a, self.l.map(b, [a, b])).size() > 0",
        "self.l.all(x, self.s + self.s != '')",
        "self.l.all(x, self.l.sum() > 0)",
        "self.l.all(x, self.s.split('').size() > 0)",
        "self.l.all(x, lists.range(1000000000).size() > 0)",
        "self.l.all(x, (self.l.map(y, y) + self.l).size() > 0)",
    ] {
        let schema = format!(
            r#"{{"type":"object","x-kubernetes-validations":[{{"rule":{}}}],"properties":{{"l":{{"type":"array","items":{{"type":"integer"}}}},
            "s":{{"type":"string"}},"y":{{"type":"string","format":"byte"}}}}}}"#,
            Value::from(rule)
        );
        // Such a rule is rejected with its definition; here it is evaluated anyway.
        let definition = Definition::read(&definition(&schema), Profile::kubernetes()).unwrap();
        let found = wrong(definition.versions[0].validate_create(&object(&spec.to_string())));
        // One step can cost more than all rules of an object may.
        let is_stopped = |found: &str| {
            found.contains("call cost exceeds limit") || found.contains("running out of cost budget")
        };
        assert!(found.len() == 1 && is_stopped(&found[0]), "{rule}: {found:?}");
    }
}

/// 588 schemas with rules and the verdict of Kubernetes v1.36.4 on each, with the texts of all causes.
#[test]
fn verdicts_on_definitions_with_rules_are_those_of_kubernetes() {
    let recorded = include_str!("../../tenure-cel/tests/data/cel-costs.jsonl");
    let mut differences = Vec::new();
    for line in recorded.lines() {
        let case: Value = line.parse().unwrap();
        let schema = case.get("schema").unwrap().to_string();
        let causes = case.get("causes").and_then(Value::as_array).unwrap();
        let text = |cause: &Value, name: &str| cause.get(name).and_then(Value::as_str).unwrap().to_string();
        let expected: Vec<String> = causes
            .iter()
            .map(|cause| format!("{}: {}", text(cause, "field"), text(cause, "message")))
            .collect();
        let found = wrong(check_create(&definition(&schema), Profile::kubernetes()));
        if found != expected {
            differences.push(format!("{schema}\n  expected {expected:#?}\n  found {found:#?}"));
        }
    }
    assert!(differences.is_empty(), "{} differ\n{}", differences.len(), differences.join("\n"));
}
