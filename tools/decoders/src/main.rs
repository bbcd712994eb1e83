//! The long run: `tenure-decoders COUNT [SEED [NAME]]` feeds COUNT inputs to the decoders in turn, and prints the number
//! and the rate. An input that makes a decoder panic is printed with its number; the run continues and fails at the end.

use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    time::{Duration, Instant},
};
use tenure_decoders::{Decoder, decoders};

/// The allocator of the server.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many inputs a decoder gets before it is the turn of the next.
const TURN: u64 = 1000;
/// The interval of progress reports.
const PROGRESS: Duration = Duration::from_secs(60);
/// The longest that one input may take, on a machine that does other work, too.
const SLOW: Duration = Duration::from_secs(60);
/// How much of an input is printed.
const SHOWN: usize = 4000;

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let number =
        |text: Option<String>, otherwise: u64| text.and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let count = number(arguments.next(), 1_000_000);
    let seed = number(arguments.next(), 1);
    let name = arguments.next();
    let decoders: Vec<Decoder> = decoders()
        .into_iter()
        .filter(|decoder| name.as_ref().is_none_or(|name| decoder.name == name))
        .collect();
    if decoders.is_empty() {
        eprintln!("no decoder has this name");
        return ExitCode::FAILURE;
    }
    let (start, mut reported) = (Instant::now(), Instant::now());
    let (mut done, mut failed) = (0, 0_u64);
    let mut times = vec![Duration::ZERO; decoders.len()];
    'run: for turn in 0.. {
        for (decoder, time) in decoders.iter().zip(&mut times) {
            let begin = Instant::now();
            for at in 0..TURN {
                let number = (seed << 40) + turn * TURN + at;
                let input = Instant::now();
                if catch_unwind(AssertUnwindSafe(|| decoder.run(number))).is_err() || input.elapsed() > SLOW {
                    failed += 1;
                    let shown: String =
                        String::from_utf8_lossy(&decoder.input(number)).chars().take(SHOWN).collect();
                    println!(
                        "{}: input {number} failed after {:?}: {shown:?}",
                        decoder.name,
                        input.elapsed()
                    );
                }
                done += 1;
                if done >= count {
                    break 'run;
                }
            }
            *time += begin.elapsed();
        }
        if reported.elapsed() > PROGRESS {
            reported = Instant::now();
            println!("{done} inputs, {failed} failures, {:?}", start.elapsed());
        }
    }
    let speed = done as f64 / start.elapsed().as_secs_f64();
    println!(
        "{done} inputs of {} decoders, seed {seed}, {failed} failures, {speed:.0} inputs a second",
        decoders.len()
    );
    for (decoder, time) in decoders.iter().zip(times) {
        println!("  {}: {time:?}", decoder.name);
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
