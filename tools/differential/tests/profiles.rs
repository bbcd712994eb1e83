//! A server agrees with itself, and the two profiles differ as documented.

use tenure_differential::{Client, Conversation, Difference, LocalServer, run, shrink};
use tenure_server::Profile;

/// Sends the conversations of some seeds to two servers.
fn differences(profiles: [Profile; 2], seeds: std::ops::Range<u64>) -> Vec<(u64, Difference)> {
    let servers = profiles.map(|profile| LocalServer::start(profile).unwrap());
    let [server, reference] = servers.each_ref().map(|server| Client::new(&server.url()).unwrap());
    let differing =
        |seed: u64| Some((seed, run(&Conversation::generate(seed), &server, &reference).unwrap()?));
    seeds.filter_map(differing).collect()
}

#[test]
fn a_server_agrees_with_itself() {
    for profile in [Profile::kubernetes(), Profile::tenure()] {
        let found = differences([profile, profile], 0..20);
        assert!(found.is_empty(), "{found:?}");
    }
}

#[test]
fn the_profiles_differ_and_a_difference_is_shrunk() {
    let profiles = [Profile::kubernetes(), Profile::tenure()];
    let found = differences(profiles, 0..60);
    let Some((seed, difference)) = found.first().cloned() else {
        panic!("no conversation shows a difference")
    };
    let servers = profiles.map(|profile| LocalServer::start(profile).unwrap());
    let [server, reference] = servers.each_ref().map(|server| Client::new(&server.url()).unwrap());
    let conversation = Conversation::generate(seed);
    let steps = conversation.steps.len();
    let (smaller, left) = shrink(conversation, difference.clone(), &server, &reference, 50).unwrap();
    assert!(left.is_like(&difference), "{left}");
    assert!(smaller.steps.len() <= steps);
    println!("{left}\n{smaller}");
}

#[test]
fn a_seed_makes_the_same_conversation_every_time() {
    assert_eq!(Conversation::generate(7), Conversation::generate(7));
    assert_ne!(Conversation::generate(7), Conversation::generate(8));
}
