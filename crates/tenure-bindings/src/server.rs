//! A test server with a socket, for callers without an async runtime. All servers of a process share one runtime; a call blocks its
//! thread and may be made from any.

use crate::{Error, Value, call::Arguments, compatibility::profile};
use std::{sync::OnceLock, time::Duration};
use tenure_testing::{InjectedFault, Socket};
use tenure_value::json;
use tokio::runtime::Runtime;

/// The threads that serve requests. Tests are many and short; more would only wait.
const WORKERS: usize = 2;

/// A control plane in the process, with a loopback socket.
pub struct TestServer {
    server: tenure_testing::TestServer,
    socket: Socket,
}

/// The state of a server to return to.
#[derive(Clone)]
pub struct Snapshot(tenure_testing::Snapshot);

/// A fault that was injected.
#[derive(Clone)]
pub struct Fault(InjectedFault);

fn runtime() -> Result<&'static Runtime, Error> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    let start = || {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(WORKERS).thread_name("tenure-test-server").enable_all();
        builder.build().map_err(|error| error.to_string())
    };
    let failed = |error: &String| Error::new(crate::ErrorKind::Server, format!("no runtime: {error}"));
    RUNTIME.get_or_init(start).as_ref().map_err(failed)
}

impl TestServer {
    /// Starts a server. The first of a process takes some milliseconds; later ones fork it. The arguments, all optional: `manifests`
    /// (files and directories, which are applied), `objects` (applied as well), `seed` (repeats uids, names and times, and stops the
    /// clock), `compatibility`, `always_allow` (instead of RBAC), `service_accounts` (one in every namespace) and `port`.
    pub fn start(arguments: &Value) -> Result<TestServer, Error> {
        let mut with = Arguments::of(arguments)?;
        let profile = profile(with.text("compatibility")?.unwrap_or("kubernetes"))?;
        let mut builder =
            tenure_testing::TestServer::builder().profile(profile).kubernetes(profile.version());
        if with.flag("always_allow")? {
            builder = builder.always_allow();
        }
        if with.flag("service_accounts")? {
            builder = builder.service_accounts();
        }
        if let Some(seed) = with.number("seed")? {
            builder = builder.seed(seed);
        }
        for path in with.texts("manifests")? {
            builder = builder.manifests(path);
        }
        for object in with.values("objects")? {
            builder = builder.object(to_json(&object)?);
        }
        let port = with.number("port")?.unwrap_or_default();
        let port = u16::try_from(port).map_err(|_| Error::argument(format!("{port} is not a port")))?;
        with.end()?;
        runtime()?.block_on(async {
            let server = builder.start().await?;
            let socket = server.listen_on(([127, 0, 0, 1], port).into()).await?;
            Ok(TestServer { server, socket })
        })
    }

    fn of(server: tenure_testing::TestServer) -> Result<TestServer, Error> {
        let socket = runtime()?.block_on(server.listen())?;
        Ok(TestServer { server, socket })
    }

    /// Returns the base URL, such as `http://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        self.socket.url()
    }

    /// Returns the path of a kubeconfig, which lasts as long as the server.
    pub fn kubeconfig(&self) -> String {
        self.socket.kubeconfig().display().to_string()
    }

    /// Returns the revision of the newest write.
    pub fn revision(&self) -> u64 {
        self.server.revision()
    }

    /// Returns an independent server with the same objects, history and time, and a socket of its own.
    pub fn fork(&self) -> Result<TestServer, Error> {
        let _entered = runtime()?.enter();
        TestServer::of(self.server.fork())
    }

    /// Returns a read-only server that shows the state of a revision.
    pub fn at(&self, revision: u64) -> Result<TestServer, Error> {
        let view = runtime()?.block_on(self.server.at(revision))?;
        TestServer::of(view)
    }

    /// Takes a snapshot of objects, history and time.
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        let _entered = runtime()?.enter();
        Ok(Snapshot(self.server.snapshot()))
    }

    /// Returns to a snapshot.
    pub fn restore(&self, snapshot: &Snapshot) -> Result<(), Error> {
        let _entered = runtime()?.enter();
        self.server.restore(&snapshot.0);
        Ok(())
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) -> Result<(), Error> {
        let _entered = runtime()?.enter();
        self.server.advance(by);
        Ok(())
    }

    /// Stops the clock.
    pub fn stop_clock(&self) -> Result<(), Error> {
        let _entered = runtime()?.enter();
        self.server.clock().stop();
        Ok(())
    }

    /// Returns the time of the server, as in RFC 3339.
    pub fn now(&self) -> String {
        self.server.clock().text()
    }

    /// Waits until the server's controllers have nothing to do.
    pub fn settle(&self) -> Result<(), Error> {
        runtime()?.block_on(self.server.settle());
        Ok(())
    }

    /// Injects a fault that is described as for `POST /testing/faults`.
    pub fn inject(&self, fault: &Value) -> Result<Fault, Error> {
        let _entered = runtime()?.enter();
        let fault = self.server.fault_of(&to_json(fault)?).map_err(Error::argument)?;
        Ok(Fault(self.server.inject(fault)))
    }

    /// Removes all faults.
    pub fn clear_faults(&self) -> Result<(), Error> {
        let _entered = runtime()?.enter();
        self.server.clear_faults();
        Ok(())
    }

    /// Applies an object with force as a manager, and returns it as it is stored.
    pub fn apply(&self, object: &Value, manager: &str) -> Result<Value, Error> {
        let applied = runtime()?.block_on(self.server.apply_as(manager, to_json(object)?))?;
        self.read(applied)
    }

    /// Puts objects into the server as they are, with their uids, times and status. Returns what could not be stored, and why.
    pub fn load(&self, objects: &[Value]) -> Result<Vec<String>, Error> {
        Ok(runtime()?.block_on(self.server.load(objects))?.left_out)
    }

    /// Returns the writes since a revision, each with its manager and the fields that it changed.
    pub fn writes_since(&self, revision: u64) -> Result<Value, Error> {
        self.read(tenure_testing::writes_document(&self.server, revision))
    }

    /// Returns the fields that managers have set back and forth since a revision.
    pub fn fights_since(&self, revision: u64) -> Result<Value, Error> {
        self.read(tenure_testing::fights_document(&self.server, revision))
    }

    fn read(&self, document: serde_json::Value) -> Result<Value, Error> {
        tenure_value::to_value(&document)
            .map_err(|error| Error::new(crate::ErrorKind::Server, error.to_string()))
    }
}

impl Fault {
    /// Returns how often the fault has happened.
    pub fn hits(&self) -> u64 {
        self.0.hits()
    }

    /// Removes the fault.
    pub fn remove(&self) {
        self.0.remove();
    }
}

fn to_json(value: &Value) -> Result<serde_json::Value, Error> {
    let text = json::to_vec(value);
    serde_json::from_slice(&text).map_err(|error| Error::argument(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn start(arguments: &str) -> Result<TestServer, Error> {
        TestServer::start(&arguments.parse().unwrap())
    }

    #[test]
    fn servers_fork_return_and_fail() {
        let settings: Value =
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"},"data":{"k":"v"}}"#
                .parse()
                .unwrap();
        let server = start(&format!(r#"{{"objects":[{settings}],"seed":1}}"#)).unwrap();
        assert!(server.url().starts_with("http://127.0.0.1:"), "{}", server.url());
        assert!(std::path::Path::new(&server.kubeconfig()).exists());
        let (snapshot, before) = (server.snapshot().unwrap(), server.revision());
        let fork = server.fork().unwrap();
        assert!(fork.url() != server.url() && fork.revision() == before);
        let mut changed = settings.to_string();
        changed = changed.replace("\"v\"", "\"w\"");
        server.apply(&changed.parse().unwrap(), "bob").unwrap();
        assert!(server.revision() > before && fork.revision() == before);
        let writes = server.writes_since(before).unwrap();
        assert_eq!(writes.as_array().map(|list| list.len()), Some(1), "{writes}");
        server.restore(&snapshot).unwrap();
        assert_eq!(server.revision(), before);
        assert_eq!(server.now(), "2026-01-01T00:00:00Z");
        server.advance(Duration::from_secs(90)).unwrap();
        assert_eq!(server.now(), "2026-01-01T00:01:30Z");
        let fault = server.inject(&r#"{"effect":"conflict","times":1}"#.parse().unwrap()).unwrap();
        assert_eq!(fault.hits(), 0);
        fault.remove();
        for wrong in [
            r#"{"effect":"magic"}"#,
            r#"{"effect":"conflict","kind":"Wizard"}"#,
            r#"{"effect":"conflict","tmies":1}"#,
        ] {
            let error = server.inject(&wrong.parse().unwrap()).err().map(|error| error.kind);
            assert_eq!(error, Some(ErrorKind::Argument), "{wrong}");
        }
        for (wrong, kind) in [
            (r#"{"manifests":["/nowhere"]}"#, ErrorKind::Server),
            (r#"{"port":70000}"#, ErrorKind::Argument),
            (r#"{"seed":-1}"#, ErrorKind::Argument),
            (r#"{"prot":1}"#, ErrorKind::Argument),
        ] {
            assert_eq!(start(wrong).err().map(|error| error.kind), Some(kind), "{wrong}");
        }
    }
}
