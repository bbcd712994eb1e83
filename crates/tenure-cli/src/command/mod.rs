//! The commands, one module each. A module has `Options`, which `clap` parses and whose first line is the description of the
//! command, and `run`. The table below lists them.

mod adopt;
mod apply;
mod approve;
mod blame;
mod can_i;
mod check;
mod clone;
mod complete;
mod completions;
mod diff;
mod envtest;
mod fields;
mod fights;
mod helm;
mod log;
mod man;
mod mcp;
mod migrate;
mod patch;
mod plan;
mod record;
mod rehearse;
mod release;
mod restore;
mod schema;
mod serve;
mod simulate;
#[cfg(feature = "etcd")]
mod store;
mod test_server;
mod top;
mod transfer;
mod ui;
mod undo;
mod watch;
mod why;

use crate::{Error, Outcome, terminal::Terminal};
use clap::{Args, Subcommand};

/// The name of a command: that of its module, unless it has a hyphen.
macro_rules! name {
    ($module:ident) => {
        stringify!($module)
    };
    ($module:ident $name:literal) => {
        $name
    };
}

/// Declares the enum of all commands from one table.
macro_rules! commands {
    ($($(#[$only:meta])? $module:ident $($name:literal)? $variant:ident,)*) => {
        /// A command.
        #[derive(Subcommand)]
        #[allow(clippy::large_enum_variant, reason = "there is one, on the stack of main")]
        pub enum Command {
            $($(#[$only])? #[allow(missing_docs)] $variant($module::Options),)*
        }

        impl Command {
            /// Adds one command to a definition; `None` if there is none of this name.
            pub fn augment_one(definition: clap::Command, name: &str) -> Option<clap::Command> {
                $($(#[$only])? if name == name!($module $($name)?) {
                    let command = clap::Command::new(name!($module $($name)?));
                    return Some(definition.subcommand($module::Options::augment_args(command)));
                })*
                None
            }

            /// Runs the command.
            pub fn run(self, terminal: &Terminal) -> Result<Outcome, Error> {
                match self {
                    $($(#[$only])? Command::$variant(options) => $module::run(options, terminal),)*
                }
            }
        }
    };
}

// In the order in which `--help` shows them.
commands! {
    blame Blame,
    log Log,
    diff Diff,
    watch Watch,
    plan Plan,
    check Check,
    helm Helm,
    apply Apply,
    clone Clone,
    rehearse Rehearse,
    why Why,
    can_i "can-i" CanI,
    adopt Adopt,
    transfer Transfer,
    release Release,
    migrate Migrate,
    undo Undo,
    restore Restore,
    fights Fights,
    top Top,
    record Record,
    mcp Mcp,
    approve Approve,
    ui Ui,
    patch Patch,
    simulate Simulate,
    schema Schema,
    fields Fields,
    serve Serve,
    test_server "test-server" TestServer,
    envtest Envtest,
    #[cfg(feature = "etcd")] store Store,
    completions Completions,
    complete Complete,
    man Man,
}
