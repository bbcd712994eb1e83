//! Properties of ownership for random types, objects and managers. A run is a random schema and a random list
//! of writes by a few managers; the properties hold at every step.

mod world;

use proptest::prelude::*;
use tenure_apply::{ApplyError, Force, Managers, Operation};
use tenure_fields::FieldSet;
use world::{World, Write};

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn applying_the_same_again_is_unchanged(run in world::run()) {
        let mut world = World::new(&run);
        for write in &run.writes {
            let Some(_) = world.writes(write) else { continue };
            if let Write::Apply { manager, config, .. } = write {
                let mut again = world.clone();
                again.apply(manager, config, Force::No).expect("what was applied can be applied again");
                prop_assert_eq!(&again.state, &world.state);
            }
        }
    }

    #[test]
    fn every_field_that_a_write_sets_has_an_owner(run in world::run()) {
        let mut world = World::new(&run);
        for write in &run.writes {
            let Some(before) = world.writes(write) else { continue };
            if before.state.managers.is_empty() && before.is_stored() {
                continue;
            }
            let owned = all(&world.state.managers);
            let declared = match write {
                Write::Apply { config, .. } => world.declared(config),
                Write::Update { .. } => world.changed_since(&before),
            };
            prop_assert!(declared.is_subset(&owned), "{:?} is not within {:?}", declared, owned);
        }
    }

    #[test]
    fn absent_fields_have_no_owner_except_declared_empty_parts(run in world::run()) {
        let mut world = World::new(&run);
        for write in &run.writes {
            let Some(_) = world.writes(write) else { continue };
            for manager in &world.state.managers {
                for path in manager.fields.iter() {
                    prop_assert!(world.shows(&path), "{} owns {path}, which is not in {:?}", manager.name, world.state.object);
                }
            }
        }
    }

    #[test]
    fn after_force_the_same_apply_has_no_conflict(run in world::run()) {
        let mut world = World::new(&run);
        for write in &run.writes {
            let before = world.clone();
            if let (Err(ApplyError::Conflicts(_)), Write::Apply { manager, config, .. }) = (world.write(write), write) {
                world = before;
                world.apply(manager, config, Force::All).expect("a forced apply has no conflicts");
                world.clone().apply(manager, config, Force::No).expect("a repeated apply has no conflicts");
            }
        }
    }

    #[test]
    fn appliers_of_disjoint_configurations_commute_up_to_the_order_of_lists(run in world::run()) {
        let [Some(a), Some(b)] = [run.configs.first(), run.configs.get(1)] else { return Ok(()) };
        let (mut one, mut other) = (World::new(&run), World::new(&run));
        let disjoint = one.declared(a).is_disjoint(&one.declared(b)) && !world::nested(&one.declared(a), &one.declared(b));
        // An apply that declares nothing leaves the object untracked, and the next apply starts with the
        // existing fields.
        prop_assume!(disjoint && !one.declared(a).is_empty() && !one.declared(b).is_empty());
        for (world, configs) in [(&mut one, [("a", a), ("b", b)]), (&mut other, [("b", b), ("a", a)])] {
            for (manager, config) in configs {
                if world.apply(manager, config, Force::No).is_err() {
                    return Ok(());
                }
            }
        }
        prop_assert_eq!(world::unordered(&one.state.object), world::unordered(&other.state.object));
        prop_assert!(one.state.managers.same_fields(&other.state.managers));
    }

    #[test]
    fn the_same_inputs_give_the_same_answer(run in world::run()) {
        // A dry run is the same call without the store, so the result must only depend on the inputs.
        let (mut world, mut dry) = (World::new(&run), World::new(&run));
        for write in &run.writes {
            let (real, dry_run) = (world.write(write).map(|()| world.state.clone()), dry.write(write).map(|()| dry.state.clone()));
            prop_assert_eq!(real, dry_run);
        }
    }

    #[test]
    fn the_fast_path_gives_the_result_of_the_general_algorithm(run in world::run()) {
        // Without the manager's last set, its applies take the general path.
        const WHOLE_WAY: &str = "kubectl";
        let mut world = World::new(&run);
        for write in &run.writes {
            let Some(_) = world.writes(write) else { continue };
            let Write::Apply { manager, config, .. } = write else { continue };
            for changed in [world::other_values(config, "key"), world::other_values(config, "")] {
                for force in [Force::No, Force::All] {
                    let (mut short, mut long) = (world.clone(), world.renamed(manager, WHOLE_WAY));
                    let outcomes = (short.apply(manager, &changed, force), long.apply(WHOLE_WAY, &changed, force));
                    prop_assert_eq!(outcomes.0, outcomes.1);
                    prop_assert_eq!(&short.renamed(manager, WHOLE_WAY).state, &long.state);
                }
            }
        }
    }

    #[test]
    fn managers_are_distinct_ordered_and_never_empty(run in world::run()) {
        let mut world = World::new(&run);
        for write in &run.writes {
            let Some(_) = world.writes(write) else { continue };
            let managers: Vec<_> = world.state.managers.iter().collect();
            prop_assert!(managers.iter().all(|manager| !manager.fields.is_empty()));
            prop_assert!(managers.windows(2).all(|pair| pair[0].operation <= pair[1].operation));
            for (at, manager) in managers.iter().enumerate() {
                prop_assert!(!managers[at + 1..].iter().any(|other| other.identity().is(&manager.identity())));
            }
            let shown = world.state.managers.to_value();
            prop_assert_eq!(Managers::from_value(&shown).expect("reads back"), world.state.managers.clone());
            let mut printed = Vec::new();
            world.state.managers.write_json(&mut printed, tenure_fields::fields_v1::write);
            prop_assert_eq!(String::from_utf8_lossy(&printed), tenure_value::json::to_string(&shown));
        }
    }

    #[test]
    fn an_extracted_configuration_declares_what_its_manager_owns(run in world::run()) {
        let mut world = World::new(&run);
        for write in &run.writes {
            let Some(_) = world.writes(write) else { continue };
            for manager in world.state.managers.iter().filter(|manager| manager.operation == Operation::Apply) {
                let extracted = tenure_apply::extract(&world.state.object, &manager.fields, world.ty());
                let declared = world.declared(&extracted);
                prop_assert!(declared.is_subset(&manager.fields), "{:?} of {:?}", declared, manager.fields);
            }
        }
    }
}

fn all(managers: &Managers) -> FieldSet {
    managers.iter().fold(FieldSet::default(), |owned, manager| owned.union(&manager.fields))
}

#[test]
fn applies_to_a_keyed_list_take_near_linear_time() {
    // Times depend on the machine, so only the growth is checked: ten times the items must cost far less than
    // a hundred times as much.
    let time = |items: usize| {
        let best = (0..3).map(|_| world::time_of_keyed_applies(items)).min().unwrap_or_default();
        best.as_secs_f64()
    };
    let (small, large) = (time(200), time(2000));
    assert!(large < small * 40.0, "200 items took {small} s, 2,000 took {large} s");
}
