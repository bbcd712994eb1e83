//! The directory in which the program keeps what it has to know later: undo files, histories, plans that wait for approval.

use std::path::PathBuf;

/// Returns the directory: `$XDG_STATE_HOME/tenure`, else `~/.local/state/tenure`.
pub fn directory() -> Option<PathBuf> {
    let given = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let of_system = if cfg!(windows) { given("LOCALAPPDATA") } else { None };
    let state = given("XDG_STATE_HOME")
        .or(of_system)
        .or_else(|| std::env::home_dir().map(|home| home.join(".local/state")));
    state.map(|state| state.join("tenure"))
}
