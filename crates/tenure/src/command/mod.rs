//! The commands, one module each. A module has `Options`, which `clap` reads and whose first sentence is the
//! command's description, and `run`, which carries it out; a line in the table below makes it a command.

use crate::{Error, Outcome, terminal::Terminal};
use clap::Subcommand;

/// Declares the modules and the enum of all commands from one table.
macro_rules! commands {
    ($($(#[$only:meta])? $module:ident $variant:ident,)*) => {
        $($(#[$only])? mod $module;)*

        /// What the program is asked to do.
        #[derive(Subcommand)]
        #[allow(clippy::large_enum_variant, reason = "there is one, on the stack of main")]
        pub enum Command {
            $($(#[$only])? #[allow(missing_docs)] $variant($module::Options),)*
        }

        impl Command {
            /// Carries the command out.
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
    plan Plan,
    apply Apply,
    why Why,
    adopt Adopt,
    transfer Transfer,
    release Release,
    migrate Migrate,
    undo Undo,
    patch Patch,
    simulate Simulate,
    schema Schema,
    fields Fields,
    serve Serve,
    #[cfg(feature = "etcd")] store Store,
    completions Completions,
    man Man,
}
