"""The parts of a run: what is measured, in which order. Each takes the servers in turns, round after round."""

import json, math, os, select, ssl, subprocess, time
from concurrent.futures import ThreadPoolExecutor

from client import CONNECTIONS, Connection, pour, request
from objects import DEPLOYMENTS, MAPS, PAGE, RING, apply, changes, config_map, deployment, same
from table import ROWS, tell

CARING = 10
REPLAY = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "replay.lua")


def replay(server, requests, seconds, options):
    """Repeats requests for some seconds; returns how many there were, the rate, and the 99th percentile of their latency."""
    if options.wrk:
        path = os.path.join(options.directory, f"requests-{server.port}")
        with open(path, "wb") as file:
            file.writelines(b"%d\n%s" % (len(text), text) for text in requests)
        command = [options.wrk, "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout", "30s",
                   "-s", REPLAY, f"https://127.0.0.1:{server.port}", "--", path]
        output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=seconds + 60).stdout
        count, failed, taken, percentile = map(float, output.splitlines()[-1].split())
        if failed > count / 1000:
            raise RuntimeError(f"{failed:.0f} of {count:.0f} requests to {server.column} failed")
        return count, count / taken, percentile / 1e6
    connections = [Connection(server.port) for _ in range(CONNECTIONS)]
    began, count, latencies = time.monotonic(), 0, []
    while time.monotonic() - began < seconds:
        batch = []
        for connection in connections:
            text = requests[count % len(requests)].replace(b"@@@@@@@@", b"%08d" % count)
            batch.append((connection, time.monotonic()))
            connection.socket.sendall(text)
            count += 1
        for connection, sent in batch:
            code, body = connection.answer()
            if code not in (200, 201):
                raise RuntimeError(f"{server.column}: {code} {body[:500].decode(errors='replace')}")
            latencies.append(time.monotonic() - sent)
    taken = time.monotonic() - began
    for connection in connections:
        connection.close()
    return count, count / taken, sorted(latencies)[int(len(latencies) * 0.99)]


def difference(after, before):
    return {column: after[column] - before[column] for column in after}


def load(server, name, requests, table):
    """Measures a load: processor time of a request, requests a second, and latency."""
    options, first = table.options, next(requests)
    before = server.used()
    count, rate, percentile = replay(server, first, options.seconds, options)
    if count < options.enough:
        # A slow server gets more time, so that its connections and what it does besides do not count as requests.
        longer, second = math.ceil(options.seconds * min(options.enough / max(count, 1), 6)), next(requests)
        before = server.used()
        count, rate, percentile = replay(server, second, longer, options)
    table.add_all(name, difference(server.used(), before), count)
    for row, value in ((f"{name} rate", rate), (f"{name} p99", percentile)):
        if any(row == known for known, *_ in ROWS):
            table.add(row, server.column, value)
            table.say(row, [server.column])


def measure_idle(servers, table):
    for _ in range(table.options.rounds):
        for server in servers:
            table.add("start", server.column, server.fresh())
            table.say("start", [server.column])
            server.rest()
            table.add_all("idle", server.memory())
            server.stop()


def requests(name, round_):
    """Yields the requests of a load, and then others for another run of it."""
    for run in (2 * round_, 2 * round_ + 1):
        if name == "noop":
            yield same()
        elif name == "create":
            body = config_map(f"of-{run}-@@@@@@@@", {"of": "create", "app": "compare"}, "x" * 100)
            yield [request("POST", MAPS, body)]
        elif name == "get":
            yield [request("GET", f"{DEPLOYMENTS}/web-{number}") for number in range(RING)]
        else:
            # As many as each object needs to differ whenever they begin again.
            yield changes(run * 10_000, 10 * RING)


def measure_load(servers, table):
    wanted = [name for name in ("change", "noop", "create", "get") if name in table.options.only]
    for server in servers:
        server.fresh()
        server.settle()
        # Whatever is prepared once for a kind is prepared here.
        if wanted != ["create"]:
            pour(server, changes(0, 2 * RING))
        if "create" in wanted:
            pour(server, [request("POST", MAPS, config_map(f"first-{number}", {}, "x")) for number in range(RING)])
    for round_ in range(1, table.options.rounds + 1):
        for name in wanted:
            for server in servers:
                if name == "noop":
                    pour(server, same())
                load(server, name, requests(name, round_), table)
    for server in servers:
        server.stop()


def measure_initial_events(server, table):
    connection, before, tail = Connection(server.port), server.used(), b""
    connection.socket.sendall(request("GET", f"{MAPS}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"))
    while b"initial-events-end" not in tail:
        piece = connection.socket.recv(1 << 18)
        if not piece:
            raise ConnectionError("a watch ended")
        tail = tail[-64:] + piece
    table.add_all("initial events", difference(server.used(), before))
    connection.close()


def fill(server, count):
    every = max(count // PAGE, 1)

    def labels(number):
        chosen = number % every == 0 and number // every < PAGE
        return {"of": str(number % 10), "app": f"app-{number % 100}"} | ({"chosen": "yes"} if chosen else {})
    texts = (request("POST", MAPS, config_map(f"map-{number:06}", labels(number), "x" * 100)) for number in range(count))
    tell(f"  {server.column}: {count:,} ConfigMaps written in {pour(server, texts):.0f} s")


def measure_list(server, table, first, again, path, expected):
    connection = Connection(server.port)
    connection.ask(request("GET", "/version"))
    text, before = request("GET", path), server.used()
    items = len(json.loads(connection.ask(text))["items"])
    if items != expected:
        raise RuntimeError(f"{server.column}: GET {path} has {items} items instead of {expected}")
    if first:
        table.add_all(first, difference(server.used(), before))
    began, count, before = time.monotonic(), 0, server.used()
    while count < 2 or count < 400 and time.monotonic() - began < table.options.seconds:
        connection.ask(text)
        count += 1
    table.add_all(again, difference(server.used(), before), count)
    connection.close()


def measure_lists(servers, table):
    options = table.options
    expected = min(PAGE, options.objects)
    for server in servers:
        server.fresh()
        fill(server, options.objects)
        server.stop()
    for _ in range(options.rounds):
        for server in servers:
            table.add("restart", server.column, server.start())
            table.say("restart", [server.column])
            server.settle()
            if "page" in options.only:
                measure_list(server, table, "page first", "page", f"{MAPS}?limit={PAGE}", expected)
            if "label" in options.only:
                selected = f"{MAPS}?labelSelector=chosen%3Dyes"
                measure_list(server, table, "label first", "label", selected, expected)
                measure_list(server, table, None, "label cached", f"{selected}&resourceVersion=0", expected)
            if "list" in options.only:
                measure_list(server, table, None, "by name", f"{MAPS}?fieldSelector=metadata.name%3Dmap-000000", 1)
                measure_list(server, table, "list first", "list", MAPS, options.objects)
                measure_initial_events(server, table)
            server.stop()


def measure_deployments(servers, table):
    """Deployments that one manager created, whose replicas another applies, and whose status a third one reports."""
    count, names = table.options.deployments, lambda: (f"web-{number:05}" for number in range(table.options.deployments))
    environment = [{"name": f"VAR_{at}", "value": str(at)} for at in range(1, 7)]
    status = {"status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "unavailableReplicas": 1}}
    for server in servers:
        server.fresh()
        began = time.monotonic()
        pour(server, (request("POST", f"{DEPLOYMENTS}?fieldManager=deployer", deployment(name, 0, environment)) for name in names()))
        reported = (f"{DEPLOYMENTS}/{name}/status?fieldManager=controller" for name in names())
        pour(server, (request("PATCH", path, status, "application/merge-patch+json") for path in reported))
        scaled = ({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {"replicas": 3}} for name in names())
        pour(server, (apply(body, "autoscaler") for body in scaled))
        connection = Connection(server.port)
        metadata = json.loads(connection.ask(request("GET", f"{DEPLOYMENTS}/web-00000")))["metadata"]
        managers = sorted(entry["manager"] for entry in metadata["managedFields"])
        if managers != ["autoscaler", "controller", "deployer"]:
            raise RuntimeError(f"{server.column}: the managers are {managers}")
        tell(f"  {server.column}: {count:,} Deployments written in {time.monotonic() - began:.0f} s")
        connection.close()
        server.rest()
        table.add_all("deployments", server.memory())
        server.stop()
    for _ in range(table.options.rounds):
        for server in servers:
            server.start()
            server.rest()
            table.add_all("deployments again", server.memory())
            server.stop()


class Watcher:
    def __init__(self, port, label):
        self.connection, self.seen, self.tail = Connection(port), 0, b""
        path = f"{MAPS}?watch=1&labelSelector=of%3D{label}&resourceVersion=0"
        self.connection.socket.sendall(request("GET", path))
        code, _ = self.connection.head()
        if code != 200:
            raise RuntimeError(f"a watch was refused with {code}")

    def drain(self):
        """Counts the changes among what has arrived."""
        mark = b'"type":"MODIFIED"'
        self.connection.socket.setblocking(False)
        while True:
            try:
                piece = self.connection.socket.recv(1 << 18)
            except ssl.SSLWantReadError:
                return
            if not piece:
                raise ConnectionError("a watch ended")
            self.tail += piece
            self.seen += self.tail.count(mark)
            self.tail = self.tail[max(self.tail.rfind(mark) + len(mark), len(self.tail) - len(mark) + 1, 0):]


def update(server, watchers, options):
    """Updates an object again and again, and returns the processor time of an update, by process."""
    connection, before, began, count = Connection(server.port), server.used(), time.monotonic(), 0
    while count < 10 or count < 1000 and time.monotonic() - began < options.seconds:
        connection.ask(request("PUT", f"{MAPS}/one", config_map("one", {"of": "chosen"}, f"{began} {count}")))
        count += 1
        for watcher in watchers if count % 20 == 0 else ():
            watcher.drain()
    end = time.monotonic() + 30
    while late := [watcher for watcher in watchers if watcher.seen < count]:
        if time.monotonic() > end:
            raise TimeoutError(f"{len(late)} watchers of {server.column} did not get all of {count} changes within 30 s")
        select.select([watcher.connection.socket for watcher in late], [], [], 0.1)
        for watcher in late:
            watcher.drain()
    used = difference(server.used(), before)
    connection.close()
    return {column: value / count for column, value in used.items()}


def watch(server, table):
    options, watchers = table.options, []
    pour(server, [request("POST", MAPS, config_map("one", {"of": "chosen"}, "x"))])
    update(server, [], options)
    table.add_all("unwatched", update(server, [], options))
    server.rest()
    before, began = server.memory(), time.monotonic()
    try:
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            for first in range(0, options.watchers, 200):
                numbers = range(first, min(first + 200, options.watchers))
                watchers += pool.map(lambda number: Watcher(server.port, "chosen" if number < CARING else f"w{number}"), numbers)
                if time.monotonic() - began > options.patience:
                    raise TimeoutError(f"{server.column} took {len(watchers):,} watchers in {options.patience} s, and not more")
        tell(f"  {server.column}: {len(watchers):,} watchers after {time.monotonic() - began:.0f} s")
        server.rest()
        table.add("watcher", server.column, (server.memory()[server.column] - before[server.column]) / options.watchers)
        table.say("watcher", [server.column])
        table.add_all("watched", update(server, watchers[:CARING], options))
    finally:
        for watcher in watchers:
            watcher.connection.close()


def measure_watchers(servers, table):
    slow = set()
    for _ in range(table.options.rounds):
        for server in servers:
            if server in slow:
                continue
            server.fresh()
            server.settle()
            try:
                watch(server, table)
            except TimeoutError as error:
                slow.add(server)
                tell(f"  {error}")
            server.stop()


def measure_etcd(server, second, table):
    """Changes by one server, and then by two on the same objects."""
    options = table.options
    server.fresh()
    server.settle()
    pour(server, changes(0, 2 * RING))
    for round_ in range(1, options.rounds + 1):
        load(server, "etcd", requests("change", round_), table)
    second.start()
    second.settle()
    pour(second, changes(0, 2 * RING))
    for round_ in range(options.rounds + 1, 2 * options.rounds + 1):
        before, before_second, loads = server.used(), second.used(), requests("change", round_)
        with ThreadPoolExecutor(2) as pool:
            runs = [pool.submit(replay, one, text, options.seconds, options) for one, text in zip((server, second), loads)]
            count = sum(run.result()[0] for run in runs)
        used = difference(server.used(), before)
        used[second.column] += difference(second.used(), before_second)[second.column]
        table.add_all("two servers", used, count)
    second.stop()
    server.stop()


def measure_million(server, table):
    count = table.options.small_objects
    server.fresh()
    texts = (request("POST", MAPS, {"metadata": {"name": f"small-{number:07}"}, "data": {"key": "value"}}) for number in range(count))
    tell(f"  {server.column}: {count:,} small objects written in {pour(server, texts, table.options.timeout):.0f} s")
    server.rest()
    table.add_all("million", server.memory())
    for _ in range(table.options.rounds):
        table.add("million restart", server.column, server.restart())
        table.say("million restart", [server.column])
    server.stop()
