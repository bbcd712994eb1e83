//! The control socket in the data directory of a running server, through which commands on the same machine use its store,
//! which the server has locked. Access is that of the directory. A command sends one line; the response is a line and, for an
//! export, the backup.

use super::request::Request;
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

/// The time limit for the request line.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// The request lines.
const LINES: [(&str, Request); 3] =
    [("export", Request::Export), ("export frozen", Request::ExportFrozen), ("thaw", Request::Thaw)];

fn socket(directory: &Path) -> PathBuf {
    directory.join("control")
}

/// Serves requests until the process ends; must be called on the runtime. Without the socket, exports need a stopped server.
pub fn listen(directory: &Path, store: Arc<EmbeddedStore>) {
    let path = socket(directory);
    // A server that was killed left its socket behind; the lock of the store rules out another server.
    let _ = std::fs::remove_file(&path);
    let bound = UnixListener::bind(&path).and_then(|listener| {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        Ok(listener)
    });
    let listener = match bound {
        Ok(listener) => listener,
        Err(error) => {
            tracing::warn!(%error, path = %path.display(), "cannot open the control socket; exports need a stopped server");
            return;
        }
    };
    let runtime = Handle::current();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (store, runtime) = (store.clone(), runtime.clone());
            thread::spawn(move || {
                if let Err(error) = answer(&stream, &store, &runtime) {
                    tracing::warn!(%error, "cannot answer a request on the control socket");
                }
            });
        }
    });
}

fn answer(stream: &UnixStream, store: &EmbeddedStore, runtime: &Handle) -> io::Result<()> {
    stream.set_read_timeout(Some(REQUEST_TIMEOUT))?;
    let mut line = String::new();
    BufReader::new(stream.take(64)).read_line(&mut line)?;
    let mut out = BufWriter::new(stream);
    let Some((_, request)) = LINES.iter().find(|(name, _)| *name == line.trim_end()) else {
        writeln!(out, "unknown request {:?}", line.trim_end())?;
        return out.flush();
    };
    match request {
        Request::Thaw => store.thaw(),
        Request::Export => {}
        Request::ExportFrozen => {
            runtime.block_on(store.freeze());
            tracing::warn!("store frozen for a move; writes are refused");
        }
    }
    writeln!(out, "ok")?;
    if *request != Request::Thaw {
        store.export(&mut out).map_err(io::Error::other)?;
    }
    out.flush()
}

/// Sends a request to the server of a data directory; `None` if none is running.
pub fn request(directory: &Path, request: Request) -> io::Result<Option<impl Read + use<>>> {
    let Ok(mut stream) = UnixStream::connect(socket(directory)) else { return Ok(None) };
    let name = LINES.iter().find(|(_, line)| *line == request).map_or("", |(name, _)| name);
    writeln!(stream, "{name}")?;
    let mut answer = BufReader::new(stream);
    let mut line = String::new();
    answer.read_line(&mut line)?;
    match line.trim_end() {
        "ok" => Ok(Some(answer)),
        other => Err(io::Error::other(format!("the running server responded {other:?}"))),
    }
}
