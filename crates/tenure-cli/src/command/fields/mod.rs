//! `tenure fields`: managed fields in all encodings. [`input::Input`] reads any of them; each subcommand is a file.

mod decode;
mod encode;
mod input;
mod size;

use crate::{Error, Outcome, terminal::Terminal};
use clap::{Args, Subcommand};
use tenure_fields::compact::Encoding;

/// Convert managed fields between encodings, and measure their size.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tenure fields decode deployment.yaml
  tenure fields encode deployment.yaml --form binary > managers.bin
  tenure fields size deployment.yaml
  kubectl get pods -A -o json --show-managed-fields | tenure fields size -")]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one, on the stack of main")]
enum Command {
    Encode(encode::Options),
    Decode(decode::Options),
    Size(size::Options),
}

/// Runs a subcommand.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    match options.command {
        Command::Encode(options) => encode::run(options, terminal),
        Command::Decode(options) => decode::run(options, terminal),
        Command::Size(options) => size::run(options, terminal),
    }
}

/// Parses the name of a form.
fn form(name: &str) -> Result<Encoding, String> {
    name.parse().map_err(|error: tenure_fields::Error| error.to_string())
}
