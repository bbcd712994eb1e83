"""The rows, the figures of all rounds, and the table of their medians."""

import statistics, sys

from objects import PAGE
from servers import ETCD, KUBE, TENURE

# The rows: name, part of the run, what is measured, unit and target of each. The unit "/s" is better the larger it is.
ROWS = [
    ("change", "change", "an applied change, processor time", "s", "50 µs, 100 times less"),
    ("change rate", "change", "applied changes a second", "/s", ""),
    ("change p99", "change", "an applied change, 99th percentile", "s", ""),
    ("noop", "noop", "an apply that changes nothing, processor time", "s", "20 µs"),
    ("noop rate", "noop", "applies that change nothing, a second", "/s", ""),
    ("create", "create", "a create of a ConfigMap, processor time", "s", "32 µs"),
    ("create rate", "create", "creates a second", "/s", ""),
    ("get", "get", "a get of a Deployment, processor time", "s", "8 µs"),
    ("get rate", "get", "gets a second", "/s", ""),
    ("page first", "page", "a page of {page} of {objects} ConfigMaps after a start, processor time", "s", "1 ms"),
    ("page", "page", "the same page again", "s", "0.4 ms"),
    ("label first", "label", "{page} of {objects} by label after a start, processor time", "s", ""),
    ("label", "label", "the same selection again", "s", "0.5 ms"),
    ("label cached", "label", "the same with `resourceVersion=0`", "s", ""),
    ("by name", "list", "one of {objects} ConfigMaps by `metadata.name`, processor time", "s", ""),
    ("list first", "list", "all {objects} ConfigMaps for the first time, processor time", "s", ""),
    ("list", "list", "the same list again", "s", ""),
    ("initial events", "list", "the initial events of a watch of them", "s", ""),
    ("restart", "page", "ready after a start with {objects} ConfigMaps", "s", ""),
    ("start", "idle", "ready after a start without objects", "s", ""),
    ("idle", "idle", "memory when idle", "B", ""),
    ("deployments", "deployments", "memory with {deployments} Deployments of three managers, after writing them", "B", "55 MB"),
    ("deployments again", "deployments", "the same after a start", "B", "55 MB"),
    ("unwatched", "watchers", "an update without watchers, processor time", "s", ""),
    ("watched", "watchers", "an update beside {watchers} watchers, ten of which it concerns", "s", "20 µs more"),
    ("watcher", "watchers", "memory of a watcher, with TLS", "B", "6 KB"),
    ("etcd", "etcd", "an applied change, Tenure on etcd, processor time", "s", "110 µs and etcd's"),
    ("two servers", "etcd", "the same by two servers on the same objects", "s", ""),
    ("million", "million", "memory with {small} small objects", "B", "1.2 GB"),
    ("million restart", "million", "ready after a start with {small} small objects", "s", "4 s"),
]
NAMES = list(dict.fromkeys(part for _, part, *_ in ROWS))


def tell(text):
    print(text, file=sys.stderr, flush=True)


class Table:
    def __init__(self, options):
        self.options, self.figures = options, {}

    def add(self, name, column, value):
        self.figures.setdefault((name, column), []).append(value)

    def add_all(self, name, values, share=1):
        for column, value in values.items():
            self.add(name, column, value / share)
        self.say(name, list(values))

    def say(self, name, columns):
        unit = next(row[3] for row in ROWS if row[0] == name)
        tell(f"  {name}: " + ", ".join(f"{column} {shown(self.figures[name, column][-1], unit)}" for column in columns))

    def median(self, name, column):
        found = self.figures.get((name, column))
        return statistics.median(found) if found else None

    def text(self):
        options = self.options
        columns = [TENURE] + ([KUBE] if options.kube_apiserver else []) + ([ETCD] if options.etcd else [])
        compared = bool(options.kube_apiserver)
        lines = ["| | " + " | ".join(columns) + (" | ratio" if compared else "") + " | target |"]
        lines.append("|---|" + "---:|" * (len(columns) + compared) + "---|")
        counts = {"page": f"{min(PAGE, options.objects):,}", "objects": f"{options.objects:,}", "deployments": f"{options.deployments:,}",
                  "watchers": f"{options.watchers:,}", "small": f"{options.small_objects:,}"}
        for name, part, title, unit, target in ROWS:
            if part not in options.only or part == "etcd" and not options.etcd:
                continue
            values = {column: self.median(name, column) for column in columns}
            cells = [title.format(**counts)] + ["-" if value is None else shown(value, unit) for value in values.values()]
            if compared:
                mine, other = values[TENURE], values[KUBE]
                if mine and other:
                    all_of_it = other + (values[ETCD] or 0)
                    cells.append(digits(mine / other if unit == "/s" else all_of_it / mine))
                else:
                    cells.append("-")
            lines.append("| " + " | ".join(cells + [target]) + " |")
        return "\n".join(lines)


def shown(value, unit):
    """Writes a figure with three digits and a fitting unit."""
    scales = {"s": [(1, "s"), (1e-3, "ms"), (1e-6, "µs")], "B": [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")], "/s": [(1, "")]}[unit]
    scale, name = next((pair for pair in scales if abs(value) >= pair[0]), scales[-1])
    return f"{digits(value / scale)} {name}".strip()


def digits(value):
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
