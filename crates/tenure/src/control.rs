//! The socket in the data directory of a running server, for commands on the same machine that need its store, which
//! it holds alone: who may write into the directory may use it. A command sends one line; the answer is a line and, for
//! an export, the backup.

use std::{
    io::{self, BufRead, BufReader, BufWriter, Read, Write},
    os::unix::{
        fs::PermissionsExt,
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};
use tenure_store::EmbeddedStore;
use tokio::runtime::Handle;

/// How long a command may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a command asks of a running server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Send everything.
    Export,
    /// Take no more writes, and send everything.
    ExportFrozen,
    /// Take writes again.
    Thaw,
}

/// The words for them.
const WORDS: [(&str, Order); 3] =
    [("export", Order::Export), ("export frozen", Order::ExportFrozen), ("thaw", Order::Thaw)];

fn place(directory: &Path) -> PathBuf {
    directory.join("control")
}

/// Serves commands until the process ends; called on the runtime. One that cannot be served only means that exports need a stopped server.
pub fn listen(directory: &Path, store: Arc<EmbeddedStore>) {
    let path = place(directory);
    // What a server that was killed has left; the lock of the store says that there is no other.
    let _ = std::fs::remove_file(&path);
    let bound = UnixListener::bind(&path).and_then(|listener| {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        Ok(listener)
    });
    let listener = match bound {
        Ok(listener) => listener,
        Err(error) => {
            tracing::warn!(%error, path = %path.display(), "exports of the running server are not possible");
            return;
        }
    };
    let runtime = Handle::current();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (store, runtime) = (store.clone(), runtime.clone());
            thread::spawn(move || {
                if let Err(error) = answer(&stream, &store, &runtime) {
                    tracing::warn!(%error, "a command could not be answered");
                }
            });
        }
    });
}

fn answer(stream: &UnixStream, store: &EmbeddedStore, runtime: &Handle) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(stream.take(64)).read_line(&mut line)?;
    let mut out = BufWriter::new(stream);
    let Some((_, order)) = WORDS.iter().find(|(word, _)| *word == line.trim_end()) else {
        writeln!(out, "unknown: {:?}", line.trim_end())?;
        return out.flush();
    };
    match order {
        Order::Thaw => store.thaw(),
        Order::Export => {}
        Order::ExportFrozen => {
            runtime.block_on(store.freeze());
            tracing::warn!("the store is being moved and takes no more writes");
        }
    }
    writeln!(out, "ok")?;
    if *order != Order::Thaw {
        store.export(&mut out).map_err(io::Error::other)?;
    }
    out.flush()
}

/// Asks the server that runs with a data directory; none if none runs.
pub fn ask(directory: &Path, order: Order) -> io::Result<Option<impl Read + use<>>> {
    let Ok(mut stream) = UnixStream::connect(place(directory)) else { return Ok(None) };
    let word = WORDS.iter().find(|(_, of)| *of == order).map_or("", |(word, _)| word);
    writeln!(stream, "{word}")?;
    let mut answer = BufReader::new(stream);
    let mut line = String::new();
    answer.read_line(&mut line)?;
    match line.trim_end() {
        "ok" => Ok(Some(answer)),
        other => Err(io::Error::other(format!("the running server answered {other:?}"))),
    }
}
