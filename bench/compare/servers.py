"""Starts and stops the servers, each in a folder and on ports of its own, and reads what they use."""

import os, shutil, signal, socket, subprocess, time

from client import Connection, request
from objects import NAMESPACE

TENURE, KUBE, ETCD = "Tenure", "kube-apiserver", "etcd"
# How long memory that was freed may take to be given back, in seconds.
REST = 12


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    """A server and what it needs, in a folder and on ports of its own."""

    def __init__(self, directory, options):
        self.directory, self.options, self.port, self.processes = directory, options, free_port(), {}

    def launch(self, column, command):
        os.makedirs(self.directory, exist_ok=True)
        if self.options.audit and column != ETCD:
            command = [*command, f"--audit-log-path={os.path.join(self.directory, 'audit')}"]
        with open(os.path.join(self.directory, f"{column}.log"), "ab") as log:
            self.processes[column] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def start(self):
        """Starts the server, waits until it is ready, and returns the seconds that took."""
        began = time.monotonic()
        self.start_processes()
        while True:
            for column, process in self.processes.items():
                if process.poll() is not None:
                    with open(os.path.join(self.directory, f"{column}.log"), errors="replace") as log:
                        raise RuntimeError(f"{column} ended with {process.returncode}:\n{log.read()[-2000:]}")
            if time.monotonic() - began > 300:
                raise RuntimeError(f"{self.column} is not ready after 300 s")
            try:
                connection = Connection(self.port)
                connection.ask(request("GET", "/readyz"))
                connection.ask(request("GET", "/api/v1/namespaces/default"))
                connection.close()
                break
            except (OSError, RuntimeError):
                time.sleep(0.002)
        ready = time.monotonic() - began
        connection = Connection(self.port)
        connection.ask(request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}), 201, 409)
        connection.close()
        return ready

    def stop(self):
        for process in reversed(self.processes.values()):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes = {}

    def kill(self):
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.processes = {}

    def fresh(self):
        """Starts again, without any object."""
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)
        return self.start()

    def restart(self):
        self.stop()
        return self.start()

    def used(self):
        """Returns the seconds of processor time of each process: what /proc/PID/stat says, in nanoseconds instead of ticks."""
        return {column: time.clock_gettime((~process.pid << 3) | 2) for column, process in self.processes.items()}

    def memory(self):
        """Returns the resident bytes of each process."""
        found = {}
        for column, process in self.processes.items():
            with open(f"/proc/{process.pid}/status") as status:
                found[column] = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))
        return found

    def settle(self, limit=30):
        """Waits until the server has finished what it does after a start or after writes."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            before = sum(self.used().values())
            time.sleep(0.25)
            if sum(self.used().values()) - before < 0.02:
                return

    def rest(self):
        """Waits until the server is idle, and has given back what it no longer needs."""
        self.settle()
        time.sleep(REST)


class Tenure(Server):
    column = TENURE

    def start_processes(self):
        flags = ["--listen", f"127.0.0.1:{self.port}", "--data-dir", os.path.join(self.directory, "data")]
        if self.options.watchers > 10_000:
            most = str(self.options.watchers + 1000)
            flags += ["--max-connections", most, "--max-connections-per-address", most]
        self.launch(TENURE, [self.options.tenure, "serve", *flags, *self.options.flags, *self.options.tenure_flags])


def start_etcd(server):
    client, peer = f"http://127.0.0.1:{server.client_port}", f"http://127.0.0.1:{server.peer_port}"
    flags = ["--data-dir", os.path.join(server.directory, "etcd"), "--listen-client-urls", client, "--advertise-client-urls", client,
             "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}",
             "--quota-backend-bytes", "8000000000"]
    server.launch(ETCD, [server.options.etcd, *flags])
    for _ in range(6000):
        try:
            return socket.create_connection(("127.0.0.1", server.client_port)).close()
        except OSError:
            time.sleep(0.005)


class TenureOnEtcd(Server):
    """Tenure on an etcd of its own, or beside another server on the etcd of that one."""

    column = TENURE

    def __init__(self, directory, options, beside=None):
        super().__init__(directory, options)
        self.beside = beside
        self.client_port, self.peer_port = (beside.client_port, None) if beside else (free_port(), free_port())

    def start_processes(self):
        if not self.beside:
            start_etcd(self)
        flags = ["--listen", f"127.0.0.1:{self.port}", "--data-dir", os.path.join(self.directory, "data")]
        flags += ["--store", "etcd", "--etcd-endpoints", f"http://127.0.0.1:{self.client_port}"]
        self.launch(TENURE, [self.options.tenure, "serve", *flags, *self.options.flags, *self.options.tenure_flags])


class KubeApiserver(Server):
    column = KUBE

    def __init__(self, directory, options):
        super().__init__(directory, options)
        self.client_port, self.peer_port = free_port(), free_port()

    def start_processes(self):
        start_etcd(self)
        flags = [f"--etcd-servers=http://127.0.0.1:{self.client_port}", "--bind-address=127.0.0.1", "--endpoint-reconciler-type=none",
                 f"--secure-port={self.port}", "--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/16",
                 f"--service-account-key-file={self.options.certificate}", f"--service-account-signing-key-file={self.options.key}",
                 "--service-account-issuer=https://kubernetes.default.svc"]
        self.launch(KUBE, [self.options.kube_apiserver, *flags, *self.options.flags])
