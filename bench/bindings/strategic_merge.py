#!/usr/bin/env python3
"""Times strategic merge patches of the large Deployment in Python: `tenure.patch` on dicts, and the best that pure Python does, a merge
with the keys of the lists written down, on dicts and from text to text. Prints the least time of each, in microseconds.

    target/bindings/venv/bin/python bench/bindings/strategic_merge.py      # after scripts/bindings python; a release: scripts/package wheel
"""

import json, pathlib, time

from tenure import patch

INPUTS = pathlib.Path(__file__).parents[1] / "inputs/smp"
# The lists of a Deployment that merge, by the name of their field; all others are replaced.
KEYS = {"containers": "name", "initContainers": "name", "ephemeralContainers": "name", "env": "name", "volumes": "name", "volumeMounts": "mountPath",
        "volumeDevices": "devicePath", "ports": "containerPort", "imagePullSecrets": "name", "hostAliases": "ip", "conditions": "type",
        "topologySpreadConstraints": "topologyKey"}


def merge(live, change):
    """Merges a patch whose directives are `$patch: delete` in entries and the order of lists: less than Kubernetes does, and so a lower limit."""
    result = dict(live)
    for name, value in change.items():
        if name.startswith("$"):
            continue
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            before = result.get(name)
            result[name] = merge(before if isinstance(before, dict) else {}, value)
        elif isinstance(value, list) and name in KEYS and value and isinstance(value[0], dict):
            key = KEYS[name]
            entries = {entry.get(key): entry for entry in result.get(name) or ()}
            for entry in value:
                if entry.get("$patch") == "delete":
                    entries.pop(entry.get(key), None)
                else:
                    entries[entry.get(key)] = merge(entries.get(entry.get(key), {}), entry)
            order = change.get("$setElementOrder/" + name)
            result[name] = list(entries.values()) if order is None else ordered(entries, [entry[key] for entry in order])
        else:
            result[name] = value
    return result


def ordered(entries, order):
    """Returns the entries in the order of the patch; those that it does not name follow."""
    named = [entries[key] for key in order if key in entries]
    return named if len(named) == len(entries) else named + [entry for key, entry in entries.items() if key not in set(order)]


def least(work, seconds=2.0):
    end, best = time.perf_counter() + seconds, float("inf")
    while time.perf_counter() < end:
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best * 1e6


def main():
    text, change_text = ((INPUTS / f"deployment-big.{name}.json").read_text() for name in ("original", "patch"))
    live, change = json.loads(text), json.loads(change_text)
    expected = json.loads((INPUTS / "deployment-big.result.json").read_text())
    assert patch.strategic_merge(live, change) == merge(live, change) == expected
    rows = [("tenure.patch.strategic_merge on dicts", lambda: patch.strategic_merge(live, change)),
            ("pure Python on dicts", lambda: merge(live, change)),
            ("tenure.patch.strategic_merge, parse and print in Python", lambda: json.dumps(patch.strategic_merge(json.loads(text), json.loads(change_text)))),
            ("pure Python, parse, merge and print", lambda: json.dumps(merge(json.loads(text), json.loads(change_text)))),
            ("parse and print in Python alone", lambda: json.dumps(json.loads(text)))]
    print(f"{len(text):,} bytes, patch of {len(change_text):,}")
    for name, work in rows:
        print(f"{least(work):10,.0f} µs  {name}")


if __name__ == "__main__":
    main()
