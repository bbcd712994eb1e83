//! The recorded figures: a text file with the toolchain that they were counted with and a line per path.

use crate::steps::Step;
use std::{error::Error, fmt, fs, path::PathBuf, process::Command};

/// Where the figures are, from the root of the repository.
pub const FILE: &str = "bench/instructions.txt";
/// By how many percent a path may exceed its figure.
pub const TOLERANCE_PERCENT: u64 = 3;
/// By how many instructions a step of a path may exceed its figure, if that is more: steps are short, and where the compiler draws
/// the border between two of them changes with both.
const STEP_TOLERANCE: u64 = 1000;

const HEADING: &str =
    "# Instructions of one run of each hot path; `scripts/instructions update` writes this file.";
const TOOLCHAIN: &str = "# counted with ";

/// What instruction counts depend on besides the code: the compiler, the C library, and the instruction sets that libraries choose
/// from when they start. Callgrind emulates the same processor on every machine that has these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain(String);

impl Toolchain {
    /// Returns that of this machine.
    pub fn current() -> Result<Toolchain, Box<dyn Error>> {
        let compiler = first_line("rustc", "--version")?;
        let library = first_line("ldd", "--version")?;
        let library = library.rsplit(' ').next().unwrap_or_default();
        Ok(Toolchain(format!("{compiler}, glibc {library}, {}{}", std::env::consts::ARCH, extensions())))
    }
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(target_arch = "x86_64")]
fn extensions() -> &'static str {
    if std::arch::is_x86_feature_detected!("avx2") { " with AVX2" } else { " without AVX2" }
}

#[cfg(not(target_arch = "x86_64"))]
fn extensions() -> &'static str {
    ""
}

fn first_line(program: &str, argument: &str) -> Result<String, Box<dyn Error>> {
    let output =
        Command::new(program).arg(argument).output().map_err(|error| format!("{program}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// The instructions of each path.
pub struct Figures {
    /// What they were counted with.
    pub toolchain: Toolchain,
    counts: Vec<(String, u64)>,
}

impl Figures {
    /// Makes figures of counts.
    pub fn new(toolchain: Toolchain, counts: Vec<(String, u64)>) -> Figures {
        Figures { toolchain, counts }
    }

    /// Reads the recorded figures; there are none before the first record.
    pub fn read() -> Result<Figures, Box<dyn Error>> {
        let text = match fs::read_to_string(file()) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            text => text.map_err(|error| format!("{FILE}: {error}"))?,
        };
        Figures::parse(&text)
    }

    fn parse(text: &str) -> Result<Figures, Box<dyn Error>> {
        let toolchain = text.lines().find_map(|line| line.strip_prefix(TOOLCHAIN)).unwrap_or("nothing");
        let mut counts = Vec::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            let wrong = || format!("{FILE}:{}: {line:?} is not a count and a name", at + 1);
            let (count, name) = line.trim().split_once("  ").ok_or_else(wrong)?;
            counts.push((name.to_owned(), count.parse().map_err(|_| wrong())?));
        }
        Ok(Figures { toolchain: Toolchain(toolchain.to_owned()), counts })
    }

    /// Records the figures.
    pub fn write(&self) -> Result<(), Box<dyn Error>> {
        let mut text = format!("{HEADING}\n{TOOLCHAIN}{}\n", self.toolchain);
        for (name, count) in &self.counts {
            text.push_str(&format!("{count:>10}  {name}\n"));
        }
        fs::write(file(), text).map_err(|error| format!("{FILE}: {error}").into())
    }

    /// Compares these figures, the recorded ones, with others.
    pub fn compare(&self, now: &Figures) -> Comparison {
        let recorded =
            |name: &str| self.counts.iter().find(|(known, _)| known == name).map(|(_, count)| *count);
        let lines = now.counts.iter().map(|(name, count)| (name.clone(), recorded(name), Some(*count)));
        let is_counted = |name: &str| now.counts.iter().any(|(known, _)| known == name);
        let gone = self.counts.iter().filter(|(name, _)| !is_counted(name));
        let gone = gone.map(|(name, count)| (name.clone(), Some(*count), None));
        Comparison(lines.chain(gone).collect())
    }
}

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(FILE)
}

/// Paths with the recorded and the current count.
pub struct Comparison(Vec<(String, Option<u64>, Option<u64>)>);

impl Comparison {
    /// Whether a path takes too many instructions, is not recorded or does not exist any more.
    pub fn has_failed(&self) -> bool {
        self.0.iter().any(|(name, recorded, now)| match (recorded, now) {
            (Some(recorded), Some(now)) => {
                let least = if Step::is_figure(name) { STEP_TOLERANCE } else { 0 };
                *now > recorded + least.max(recorded * TOLERANCE_PERCENT / 100)
            }
            _ => true,
        })
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>10}  {:>10}  {:>8}", "recorded", "now", "")?;
        for (name, recorded, now) in &self.0 {
            let text = |count: &Option<u64>| count.map_or("-".to_owned(), |count| count.to_string());
            let change = match (recorded, now) {
                (Some(recorded), Some(now)) => {
                    format!("{:+.2} %", (*now as f64 / (*recorded).max(1) as f64 - 1.0) * 100.0)
                }
                (None, _) => "new".to_owned(),
                (_, None) => "gone".to_owned(),
            };
            writeln!(f, "{:>10}  {:>10}  {change:>8}  {name}", text(recorded), text(now))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_fails_beyond_three_percent() {
        let recorded = "# counted with x\n     10000  a b\n";
        let cases = [
            ("10300  a b", false),
            ("10301  a b", true),
            ("5000  a b", false),
            ("10000  a b\n1  new", true),
            ("10000  renamed", true),
        ];
        for (now, fails) in cases {
            let comparison = Figures::parse(recorded).unwrap().compare(&Figures::parse(now).unwrap());
            assert_eq!(comparison.has_failed(), fails, "{now}: {comparison}");
        }
    }

    #[test]
    fn a_short_step_fails_beyond_a_thousand_instructions() {
        let recorded = Figures::parse("# counted with x\n     10000  a > b\n").unwrap();
        for (now, fails) in [("11000  a > b", false), ("11001  a > b", true)] {
            assert_eq!(recorded.compare(&Figures::parse(now).unwrap()).has_failed(), fails, "{now}");
        }
    }

    #[test]
    fn figures_are_read_as_they_are_written() {
        let figures = Figures::parse("# counted with rustc 1\n        12  one\n 345  two words\n").unwrap();
        assert_eq!(figures.toolchain, Toolchain("rustc 1".into()));
        assert_eq!(figures.counts, [("one".into(), 12), ("two words".into(), 345)]);
        let error = Figures::parse("x  one").map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), r#"bench/instructions.txt:1: "x  one" is not a count and a name"#);
    }
}
