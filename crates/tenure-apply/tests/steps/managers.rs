//! Managers: their serialization, resets, the maximum, and fields that cannot be owned.

use crate::{
    SPEC,
    story::{Story, value},
};
use tenure_apply::Profile;
use tenure_apply::{
    BEFORE_FIRST_APPLY, Live, MAX_UPDATERS, Manager, Managers, Operation, Presence, Requested, ResetFields,
    SCALE_VERSION, SingleVersion, Timestamp, Write, from_scale, to_scale, update,
};
use tenure_fields::Path;
use tenure_schema::Schema;
use tenure_value::Value;

const ENTRIES: &str = "
- {apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {'f:data': {'f:k': {}}}, manager: b, operation: Apply, time: '2020-01-02T03:04:06Z'}
- {apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {'f:data': {'f:k': {}}}, manager: a, operation: Apply, time: '2020-01-02T03:04:06Z'}
- {apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {'f:data': {'f:k': {}}}, manager: z, operation: Apply, time: '2020-01-02T03:04:05Z'}
- {apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {'f:data': {'f:m': {}}}, manager: c, operation: Update, subresource: status}
";

#[test]
fn managers_are_sorted_by_operation_time_and_name_and_round_trip() {
    let managers = Managers::from_value(&value(ENTRIES)).expect("entries");
    let names: Vec<&str> = managers.iter().map(|manager| manager.name.as_str()).collect();
    assert_eq!(names, ["z", "a", "b", "c"]);
    assert_eq!(Managers::from_value(&managers.to_value()), Ok(managers));
}

#[test]
fn invalid_entries_are_reported_with_index_and_reason() {
    for (entry, problem) in [
        (
            "{operation: Delete, apiVersion: v1, fieldsType: FieldsV1}",
            "operation: expected Apply or Update, got \"Delete\"",
        ),
        ("{operation: Apply, fieldsType: FieldsV1}", "apiVersion: must not be empty"),
        (
            "{operation: Apply, apiVersion: v1, fieldsType: FieldsV2}",
            "fieldsType: expected FieldsV1, got \"FieldsV2\"",
        ),
        (
            "{operation: Apply, apiVersion: v1, fieldsType: FieldsV1, time: soon}",
            "time: expected a time such as 2020-01-02T03:04:05Z, got \"soon\"",
        ),
        ("3", "expected an object, got integer"),
    ] {
        let error = Managers::from_value(&value(&format!("[{entry}]"))).expect_err(entry);
        assert_eq!(error.to_string(), format!("metadata.managedFields[0]: {problem}"));
    }
    let many = Value::array(vec![value("{}"); tenure_apply::MAX_MANAGERS + 1]);
    let error = Managers::from_value(&many).expect_err("too many");
    assert_eq!(error.to_string(), "metadata.managedFields[5000]: expected at most 5000 entries, got 5001");
    let wrong = value("[{operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {data: {}}}]");
    assert!(Managers::from_value(&wrong).is_err(), "a name that is not a path element");
}

/// Updates a ConfigMap owned by one manager, with the `managedFields` of a request.
fn update_with_entries(requested: Requested<'_>, data: &str) -> Managers {
    let ty = Schema::builtin().kind("v1", "ConfigMap").expect("a kind");
    let versions = SingleVersion::new("v1", ty);
    let empty = value("{apiVersion: v1, kind: ConfigMap}");
    let object = value("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}");
    let managers = Managers::from_value(&value(
        "[{apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {'f:data': {'f:k': {}}}, manager: alice, operation: Apply}]",
    ))
    .expect("entries");
    let write = Write {
        manager: "edit",
        api_version: "v1",
        subresource: "",
        now: Some(Timestamp::from_unix(7)),
        versions: &versions,
        reset: &ResetFields::None,
        empty: &empty,
        profile: Profile::tenure(),
    };
    let new = value(&format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}, data: {data}}}"));
    let live = Live { object: &object, managers: &managers, presence: Presence::Stored };
    update(live, &new, requested, &write).expect("updates never ask").managers
}

#[test]
fn an_empty_list_or_entry_resets_and_null_or_invalid_input_is_ignored() {
    let names =
        |managers: Managers| managers.iter().map(|manager| manager.name.to_string()).collect::<Vec<_>>();
    let names_after =
        |text: &str| names(update_with_entries(Requested::Entries(Some(&value(text))), "{k: v}"));
    assert_eq!(names_after("[]"), Vec::<String>::new());
    assert_eq!(names_after("[{}]"), Vec::<String>::new());
    assert_eq!(names_after("null"), ["alice"]);
    assert_eq!(names_after("[{operation: Delete}]"), ["alice"]);
    assert_eq!(names_after("[{}, {}]"), ["alice"]);
    let ghost = "[{apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {'f:data': {'f:k': {}}}, manager: ghost, operation: Apply}]";
    assert_eq!(names_after(ghost), ["ghost"]);
    assert_eq!(names_after(&ghost.replace("apiVersion: v1", "apiVersion: nope/v9")), Vec::<String>::new());
    let custom = Value::array([]);
    assert_eq!(names(update_with_entries(Requested::EntriesOfCustom(Some(&custom)), "{k: v}")), ["alice"]);
    assert_eq!(names(update_with_entries(Requested::Live, "{k: w}")), ["edit"]);
}

#[test]
fn an_object_without_managers_is_tracked_from_the_first_apply_on() {
    let story = Story::of(SPEC)
        .updates("edit", "{a: '1', b: '1'}")
        .forget_managers()
        .updates("edit", "{a: '2', b: '1'}");
    assert!(story.state().managers.is_empty());
    story
        .applies("alice", "{b: '2'}")
        .refused_with(
            "Apply failed with 1 conflict: conflict with \"before-first-apply\" using x.io/v1: .spec.b",
        )
        .applies("alice", "{num: 1}")
        .ends_with(
            "{a: '2', b: '1', num: 1}",
            &[
                ("alice", "{f:spec: {f:num: {}}}"),
                (&format!("{BEFORE_FIRST_APPLY} Update"), "{f:spec: {.: {}, f:a: {}, f:b: {}}}"),
            ],
        );
}

#[test]
fn beyond_the_maximum_the_oldest_updaters_are_merged() {
    let mut story = Story::of(SPEC);
    let mut map = Vec::new();
    for index in 0..MAX_UPDATERS + 3 {
        map.push(format!("k{index:02}: v"));
        story = story.updates(&format!("m{index:02}"), &format!("{{map: {{{}}}}}", map.join(", ")));
    }
    let managers = &story.state().managers;
    assert_eq!(managers.len(), MAX_UPDATERS);
    let oldest = managers.iter().next().expect("managers");
    assert_eq!((oldest.name.as_str(), oldest.operation), ("ancient-changes", Operation::Update));
    assert_eq!(
        format!("{:?}", oldest.fields),
        "{\"f:spec\":{\".\":{},\"f:map\":{\".\":{},\"f:k00\":{},\"f:k01\":{},\"f:k02\":{},\"f:k03\":{}}}}"
    );
}

#[test]
fn the_identity_of_an_object_is_not_owned() {
    let config = value(
        "{apiVersion: x.io/v1, kind: Thing, spec: {a: '1'}, metadata: {name: t, namespace: s, generation: 3, \
         uid: u, resourceVersion: '1', creationTimestamp: null, labels: {l: '1'}}}",
    );
    let story = Story::of(SPEC).applies_whole("alice", &config);
    let fields = format!("{:?}", story.state().managers.iter().next().expect("alice").fields);
    assert_eq!(fields, "{\"f:metadata\":{\"f:labels\":{\"f:l\":{}}},\"f:spec\":{\"f:a\":{}}}");
}

#[test]
fn scale_maps_the_owners_of_replicas_both_ways() {
    let replicas: Path = ".spec.replicas".parse().expect("a path");
    let at = |version: &str| (version == "apps/v1").then(|| replicas.clone());
    let manager = |name: &str, operation, subresource: &str, fields: &str| Manager {
        name: name.into(),
        operation,
        api_version: "apps/v1".into(),
        subresource: subresource.into(),
        time: Some(Timestamp::from_unix(1)),
        fields: tenure_fields::fields_v1::from_value(&value(fields)).expect("a set"),
    };
    let parent = Managers::new([
        manager("alice", Operation::Apply, "", "{f:spec: {f:replicas: {}, f:paused: {}}}"),
        manager("other", Operation::Apply, "", "{f:spec: {f:paused: {}}}"),
    ]);
    let scale = to_scale(&parent, &at);
    assert_eq!(scale.iter().map(|manager| manager.name.as_str()).collect::<Vec<_>>(), ["alice"]);
    assert!(scale.iter().all(|manager| manager.api_version == SCALE_VERSION));
    let versions =
        SingleVersion::new("apps/v1", Schema::builtin().kind("apps/v1", "Deployment").expect("a kind"));
    let empty = value("{}");
    let write = Write {
        manager: "scaler",
        api_version: "apps/v1",
        subresource: "scale",
        now: Some(Timestamp::from_unix(2)),
        versions: &versions,
        reset: &ResetFields::None,
        empty: &empty,
        profile: Profile::tenure(),
    };
    assert_eq!(from_scale(&parent, &scale, &at, &write), parent, "nothing changed");
    let taken = Managers::new([Manager {
        api_version: SCALE_VERSION.into(),
        ..manager("scaler", Operation::Update, "scale", "{f:spec: {f:replicas: {}}}")
    }]);
    let described: Vec<String> = from_scale(&parent, &taken, &at, &write)
        .iter()
        .map(|manager| {
            format!("{} {} {:?} {:?}", manager.name, manager.api_version, manager.time, manager.fields)
        })
        .collect();
    assert_eq!(
        described,
        [
            "alice apps/v1 Some(Timestamp(1)) {\"f:spec\":{\"f:paused\":{}}}",
            "other apps/v1 Some(Timestamp(1)) {\"f:spec\":{\"f:paused\":{}}}",
            "scaler apps/v1 None {\"f:spec\":{\"f:replicas\":{}}}",
        ]
    );
}
