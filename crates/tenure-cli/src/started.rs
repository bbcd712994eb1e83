//! The path that the program was started by. It is that of the process, unless another program runs Tenure as a library: then it is
//! that of the script that people call, and not the interpreter's.

use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    path::PathBuf,
    sync::OnceLock,
};

static STARTED: OnceLock<OsString> = OnceLock::new();

/// Keeps the first word of the command line. Only the first call has an effect: a process is started once.
pub fn remember(name: &OsStr) {
    let _ = STARTED.set(name.to_owned());
}

/// Returns the first word of the command line.
pub fn name() -> &'static OsStr {
    STARTED.get_or_init(of_process)
}

/// Returns the file that starts the program again.
pub fn file() -> io::Result<PathBuf> {
    match name() == of_process() {
        true => env::current_exe(),
        false => PathBuf::from(name()).canonicalize(),
    }
}

fn of_process() -> OsString {
    env::args_os().next().unwrap_or_default()
}
