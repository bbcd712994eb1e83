//! Properties of field sets, checked against a naive model (a sorted set of paths), and round trips of all
//! notations of sets and paths.

use proptest::{collection::vec, prelude::*};
use std::collections::BTreeSet;
use tenure_fields::{FieldSet, Path, PathElement, fields_v1, fields_v1::Order};
use tenure_value::Value;

type Model = BTreeSet<Path>;

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..12i64).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        prop_oneof![Just(0.5), Just(2.0), Just(-1e30), Just(1e-9)]
            .prop_map(|number| Value::float(number).unwrap()),
        "[a-c.\\[\\]\"<é\n]{0,3}".prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::array),
            vec(("[ab]", inner), 0..3).prop_map(Value::object),
        ]
    })
}

fn element() -> impl Strategy<Value = PathElement> {
    prop_oneof![
        6 => "[a-d]".prop_map(PathElement::field),
        1 => "[a-c./\\[\\]=\"<0é\n]{0,3}".prop_map(PathElement::field),
        2 => vec(("[a-c]|[a=,\\]\"]", scalar()), 0..3).prop_map(PathElement::key),
        1 => value().prop_map(PathElement::Value),
        1 => (-1..12i64).prop_map(PathElement::Index),
    ]
}

fn path() -> impl Strategy<Value = Path> {
    vec(element(), 1..5).prop_map(Path::from)
}

/// Few names and short paths, so that sets overlap.
fn near_path() -> impl Strategy<Value = Path> {
    vec("[a-c]".prop_map(PathElement::field), 1..4).prop_map(Path::from)
}

fn model() -> impl Strategy<Value = Model> {
    prop_oneof![vec(near_path(), 0..16), vec(path(), 0..12)].prop_map(|paths| paths.into_iter().collect())
}

fn set(model: &Model) -> FieldSet {
    model.iter().collect()
}

fn paths(set: &FieldSet) -> Model {
    let listed: Vec<Path> = set.iter().collect();
    assert!(listed.is_sorted(), "{set:?} is not iterated in order");
    assert_eq!(listed.len(), set.len());
    listed.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_set_contains_exactly_the_inserted_paths(model in model(), order in any::<u64>(), other in path()) {
        let built = set(&model);
        prop_assert_eq!(paths(&built), model.clone());
        let mut shuffled: Vec<&Path> = model.iter().collect();
        let middle = order as usize % (shuffled.len() + 1);
        shuffled.rotate_left(middle);
        prop_assert_eq!(shuffled.iter().collect::<FieldSet>(), built.clone());
        let mut inserted = FieldSet::default();
        for path in shuffled {
            prop_assert!(inserted.insert(path));
            prop_assert!(!inserted.insert(path));
        }
        prop_assert_eq!(&inserted, &built);
        prop_assert_eq!(built.has(&other), model.contains(&other));
        for path in &model {
            prop_assert!(built.has(path));
            prop_assert!(inserted.remove(path));
            prop_assert!(!inserted.has(path));
        }
        prop_assert!(inserted.is_empty());
    }

    #[test]
    fn set_operations_agree_with_the_model(a in model(), b in model()) {
        let (one, two) = (set(&a), set(&b));
        prop_assert_eq!(paths(&one.union(&two)), &a | &b);
        prop_assert_eq!(paths(&one.intersection(&two)), &a & &b);
        prop_assert_eq!(paths(&one.difference(&two)), &a - &b);
        let above = |path: &Path| (1..=path.len()).any(|end| b.contains(&Path::from(&path[..end])));
        let rest: Model = a.iter().filter(|path| !above(path)).cloned().collect();
        prop_assert_eq!(paths(&one.recursive_difference(&two)), rest);
        prop_assert_eq!(one.is_subset(&two), a.is_subset(&b));
        prop_assert_eq!(one.is_disjoint(&two), a.is_disjoint(&b));
        prop_assert_eq!(one == two, a == b);
        prop_assert!(one.intersection(&two).is_subset(&one));
        prop_assert!(one.union(&one.intersection(&two)).ptr_eq(&one));
        prop_assert!(one.difference(&two.difference(&one)).ptr_eq(&one));
    }

    #[test]
    fn prefixes_and_leaves_agree_with_the_model(model in model(), prefix in prop_oneof![near_path(), path()]) {
        let all = set(&model);
        let (with, without): (Model, Model) = model.iter().cloned().partition(|path| path.starts_with(&prefix));
        prop_assert_eq!(paths(&all.with_prefix(&prefix)), with.clone());
        prop_assert_eq!(paths(&all.without_prefix(&prefix)), without);
        let below: Model = with
            .iter()
            .filter(|path| path.len() > prefix.len())
            .map(|path| Path::from(&path[prefix.len()..]))
            .collect();
        prop_assert_eq!(paths(&all.below(&prefix)), below.clone());
        let lengthened: Model = below.iter().map(|path| Path::from([&prefix[..], path].concat())).collect();
        prop_assert_eq!(paths(&set(&below).prefixed(&prefix)), lengthened);
        let is_leaf = |path: &&Path| !model.iter().any(|other| other.len() > path.len() && other.starts_with(path));
        let leaves: Model = model.iter().filter(is_leaf).cloned().collect();
        prop_assert_eq!(paths(&all.leaves()), leaves);
    }

    #[test]
    fn visit_and_iter_agree(model in model()) {
        let all = set(&model);
        let mut visited = Vec::new();
        all.visit(|path| visited.push(Path::from(path)));
        prop_assert_eq!(visited, all.iter().collect::<Vec<Path>>());
    }

    #[test]
    fn fields_v1_round_trips(model in model()) {
        let all = set(&model);
        for order in [Order::Names, Order::Elements] {
            let mut text = Vec::new();
            fields_v1::write_in(&all, order, &mut text);
            let (read, seen) = fields_v1::parse_ordered(&text).unwrap();
            prop_assert_eq!(&read, &all);
            let mut again = Vec::new();
            fields_v1::write_in(&read, seen, &mut again);
            prop_assert_eq!(String::from_utf8(again), String::from_utf8(text));
        }
        let value = fields_v1::to_value(&all);
        prop_assert_eq!(fields_v1::from_value(&value), Ok(all.clone()));
        prop_assert_eq!(value.to_string().into_bytes(), fields_v1::to_vec(&all));
    }

    #[test]
    fn quoted_paths_round_trip(path in path()) {
        prop_assert_eq!(Path::parse(&path.quoted().to_string()), Ok(path));
    }

    #[test]
    fn kubernetes_notation_with_plain_names_round_trips(path in vec(prop_oneof![
        "[a-z]{1,3}".prop_map(PathElement::field),
        vec(("[a-c]", scalar()), 1..3).prop_map(PathElement::key),
        scalar().prop_map(PathElement::Value),
        (0..3i64).prop_map(PathElement::Index),
    ], 0..5)) {
        let path = Path::from(path);
        prop_assert_eq!(Path::parse(&path.to_string()), Ok(path));
    }
}
