//! A bounded run of the fuzz target of connections, the same in every run: every exchange alone and random conversations, over whole,
//! cut, broken and noisy wires. It is about the crate's own connections: hyper drops what it has not yet sent when a body fails.
#![cfg(not(feature = "library-connections"))]

mod fuzzed;

use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

/// Without TLS, TLS 1.2, TLS 1.3.
const VERSIONS: std::ops::Range<u8> = 0..3;
const EXCHANGES: std::ops::Range<u8> = 0..10;

#[test]
fn every_answer_arrives_however_the_wire_cuts() {
    // Whole; a byte at a time over a wire that holds one; pieces that end anywhere.
    for steps in [&[][..], &[0, 1], &[4, 0, 7, 0, 1, 50], &[10, 201, 3, 0, 120], &[16, 213, 1, 217]] {
        for version in VERSIONS {
            for number in EXCHANGES {
                fuzzed::connection(&[&[version, 0, 0, 0, number, 0, 2][..], steps].concat());
            }
        }
    }
}

#[test]
fn a_wire_that_breaks_anywhere_ends_the_server_and_invents_nothing() {
    let config = Config { cases: 300, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    // Most positions are within the handshake and the first answers.
    let position = prop_oneof![0..3000_u16, 0..u16::MAX];
    let kind = any::<u8>();
    let steps = prop::collection::vec(prop_oneof![Just(0_u8), 1..10_u8, any::<u8>()], 0..12);
    let plan = (VERSIONS, kind, position, prop::array::uniform3(EXCHANGES), 0..17_u8, steps);
    runner
        .run(&plan, |(version, kind, position, numbers, capacity, steps)| {
            let [low, high] = position.to_le_bytes();
            let head = [version, kind, low, high, numbers[0], numbers[1], numbers[2], capacity];
            fuzzed::connection(&[&head[..], &steps].concat());
            Ok(())
        })
        .unwrap();
}
