//! A hot path: a name and something that can be run many times.

use std::error::Error;

/// What runs a path as often as it was prepared for.
pub type Run<'p> = Box<dyn FnOnce() -> Result<(), Box<dyn Error>> + 'p>;

/// Makes the inputs of a number of runs; only what it returns is counted.
pub type Prepare = Box<dyn FnMut(usize) -> Result<Run<'static>, Box<dyn Error>>>;

/// A path whose instructions are counted.
pub struct HotPath {
    /// The name in the figures.
    pub name: &'static str,
    /// How often it runs per count.
    pub runs: usize,
    prepare: Prepare,
}

impl HotPath {
    /// Makes a path of a function that needs no inputs.
    pub fn repeated<T>(name: &'static str, runs: usize, run: impl Fn() -> T + Clone + 'static) -> HotPath {
        HotPath::prepared(name, runs, move |runs| {
            let run = run.clone();
            Ok(Box::new(move || {
                for _ in 0..runs {
                    std::hint::black_box(run());
                }
                Ok(())
            }))
        })
    }

    /// Makes a path whose inputs are made before they are counted.
    pub fn prepared(
        name: &'static str,
        runs: usize,
        prepare: impl FnMut(usize) -> Result<Run<'static>, Box<dyn Error>> + 'static,
    ) -> HotPath {
        HotPath { name, runs, prepare: Box::new(prepare) }
    }

    /// Makes the inputs of the next runs.
    pub fn prepare(&mut self) -> Result<Run<'static>, Box<dyn Error>> {
        (self.prepare)(self.runs)
    }
}
