"""Recorded outcomes, through this package: the same files as the tests in Rust, every line of them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

from conftest import REPOSITORY

import tenure
from tenure import patch
from tenure.testing import TestServer

VECTORS = REPOSITORY / "crates/tenure-patch/tests/vectors"


def lines() -> Iterator[Tuple[str, Dict[str, Any]]]:
    for file in sorted(VECTORS.glob("*.jsonl")):
        for text in file.read_text().splitlines():
            if text.strip():
                yield file.name, json.loads(text, parse_int=whole)


class Line:
    """One recorded line."""

    def __init__(self, file: str, raw: Dict[str, Any]) -> None:
        self.raw = raw
        # Kubernetes does not know the keys that clients send; their outcomes are those of its design.
        keys = "kubernetes+ClientMergeKeys" if file == "patch-merge-key.jsonl" else "kubernetes"
        self.options: Dict[str, Any] = {"compatibility": keys}
        if "schema" in raw:
            self.options["schema"] = tenure.Types.of_schema(raw["schema"])
        else:
            self.options["kind"] = raw["kind"]

    def input(self, name: str) -> Any:
        text = self.raw.get(name + "_text")
        return self.raw.get(name) if text is None else json.loads(text, parse_int=whole)

    def run(self) -> Any:
        original, changed = self.input("original"), self.input("patch")
        modified, current = self.input("modified"), self.input("current")
        if self.raw["op"] == "apply":
            return patch.strategic_merge(original, changed, **self.options)
        if self.raw["op"] == "two-way":
            return patch.two_way(original, modified, **self.options)
        assert self.raw["op"] == "three-way"
        overwrite = self.raw.get("overwrite", False)
        # What was recorded as null is an empty manifest; a missing one would be looked for in the annotation.
        last = {} if original is None else original
        return patch.three_way(modified, current, last_applied=last, overwrite=overwrite, **self.options)

    def applied(self, calculated: Any) -> Any:
        calculated = read_back(calculated)
        target = self.input("current" if self.raw["op"] == "three-way" else "original")
        return patch.strategic_merge(target, calculated, **self.options)

    def same(self, found: Any, expected: Any) -> bool:
        if self.raw.get("unordered"):
            return ordered(found) == ordered(expected)
        return bool(near(found) == near(expected))

    def outcomes(self) -> List[Dict[str, Any]]:
        if "any_of" in self.raw:
            return list(self.raw["any_of"])
        return [self.raw.get("openapi", self.raw)]

    def judge(self) -> Optional[str]:
        if self.raw["op"] == "round-trip":
            return self.round_trip()
        try:
            result, error = self.run(), None
        except (tenure.Error, ValueError) as raised:
            result, error = None, raised
        problems = [self.compare(result, error, recorded) for recorded in self.outcomes()]
        return None if None in problems else problems[0]

    def compare(self, result: Any, error: Optional[Exception], recorded: Dict[str, Any]) -> Optional[str]:
        if error is not None:
            if "error" not in recorded:
                return f"raised {error!r}"
            conflict = isinstance(error, tenure.Conflict)
            return None if conflict == recorded.get("conflict", False) else f"conflict: {conflict}, {error}"
        if "result" not in recorded:
            return f"gives {result}, recorded {recorded.get('error')}"
        if not self.same(result, recorded["result"]):
            return f"gives {result}, recorded {recorded['result']}"
        if "applied" in recorded and not self.same(self.applied(result), recorded["applied"]):
            return "the patch gives another result when applied"
        return None

    def round_trip(self) -> Optional[str]:
        original, modified = self.input("original"), self.input("modified")
        calculated = patch.two_way(original, modified, keys="recommended", **self.options)
        for name, keys in self.raw["expect_merge_keys"].items():
            if any(entry.get("$patchMergeKey") != keys for entry in calculated.get(name, [])):
                return f"{name} does not carry {keys}"
        return None if self.same(self.applied(calculated), modified) else "does not lead to the modified document"


def whole(text: str) -> Any:
    """Reads an integer as a server does: a number if it does not fit 64 bits."""
    number = int(text)
    return number if -(2**63) <= number < 2**64 else float(text)


def near(value: Any) -> Any:
    """Returns a document in which large numbers are what their text says, however it is written."""
    if isinstance(value, list):
        return [near(item) for item in value]
    if isinstance(value, dict):
        return {name: near(below) for name, below in value.items()}
    return float(value) if isinstance(value, (int, float)) and abs(value) > 2**53 else value


def read_back(value: Any) -> Any:
    """Returns a document as a server reads it from the connection: an integral float is an integer."""
    if isinstance(value, list):
        return [read_back(item) for item in value]
    if isinstance(value, dict):
        return {name: read_back(below) for name, below in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def ordered(value: Any) -> Any:
    if isinstance(value, list):
        return sorted((ordered(item) for item in value), key=json.dumps)
    if isinstance(value, dict):
        return {name: ordered(value[name]) for name in sorted(value)}
    return value


def test_every_recorded_strategic_merge_has_its_outcome() -> None:
    total, problems = 0, []
    for file, raw in lines():
        total += 1
        problem = Line(file, raw).judge()
        if problem is not None:
            problems.append(f"{file}: {raw['id']}: {problem}")
    assert not problems, f"{len(problems)} of {total} lines:\n" + "\n".join(problems[:10])
    assert total == sum(len(file.read_text().splitlines()) for file in VECTORS.glob("*.jsonl")) > 600


def without_times(managers: Any) -> Any:
    return sorted(
        (json.dumps({name: entry[name] for name in entry if name != "time"}, sort_keys=True) for entry in managers or [])
    )


APPLY = "application/apply-patch+yaml"
#: Recordings have UID for any uid.
UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def recorded_applies() -> Iterator[Tuple[str, Optional[Dict[str, Any]], Dict[str, Any], Dict[str, Any], Dict[str, Any]]]:
    """Yields recorded applies to built-in kinds whose live object is known: name, live object, step, answer, query."""
    for file in sorted((REPOSITORY / "conformance/scenarios").glob("ssa-*.json")):
        for scenario in json.loads(file.read_text()):
            stored: Dict[str, Optional[Dict[str, Any]]] = {}
            for step in scenario["steps"]:
                path, expect = step.get("path", ""), step.get("expect", {})
                answer, query = expect.get("body"), step.get("query", {})
                if step.get("do") == "PATCH" and step.get("type") == APPLY and isinstance(step.get("body"), dict):
                    if isinstance(answer, dict) and path.count("/") in (6, 7) and not step.get("ignore"):
                        yield scenario["name"], stored.get(path), step, expect, query
                if "dryRun" in query:
                    continue
                if step.get("do") in ("PUT", "PATCH", "POST", "DELETE") and not is_object(answer):
                    if expect.get("code", 0) < 300:
                        stored.clear()
                elif is_object(answer) and step.get("do") != "DELETE":
                    at = path if step.get("do") != "POST" else f"{path}/{answer['metadata'].get('name')}"
                    stored = {at: answer} if at.rsplit("/", 1)[-1] == answer["metadata"].get("name") else {}
                else:
                    stored.clear()


def is_true(flag: Optional[str]) -> bool:
    """Reads a flag as a server does: everything is true but what says false."""
    return flag is not None and flag.lower() not in ("0", "false")


def is_object(answer: Any) -> bool:
    return isinstance(answer, dict) and answer.get("kind") not in (None, "Status", "Table") and "metadata" in answer


def test_recorded_applies_have_their_conflicts_and_owners() -> None:
    succeeded, contested, problems = 0, 0, []
    for name, live, step, expect, query in recorded_applies():
        answer, manager = expect["body"], query.get("fieldManager", "")
        group = step["body"].get("apiVersion", "")
        if not manager or not isinstance(manager, str) or "example" in group or group.startswith("autoscaling"):
            continue
        is_conflict = expect["code"] == 409 and str(answer.get("message", "")).startswith("Apply failed")
        if not is_conflict and not (expect["code"] in (200, 201) and is_object(answer)):
            continue
        # The object was created before, and the recording does not show it.
        if live is None and (is_conflict or expect["code"] == 200):
            continue
        # Times are masked in recordings.
        if live is not None:
            live = json.loads(json.dumps(live).replace('"TIME"', '"2026-01-01T00:00:00Z"'))
        try:
            applied = tenure.apply(live, step["body"], manager, force=is_true(query.get("force")))
            if is_conflict:
                problems.append(f"{name}: no conflict, recorded {answer['message']}")
            elif without_times(applied.object["metadata"].get("managedFields")) != without_times(answer["metadata"].get("managedFields")):
                problems.append(f"{name}: other managers")
            succeeded += 1
        except tenure.Conflict as error:
            contested += 1
            if not is_conflict or UID.sub("UID", str(error)) != answer["message"]:
                problems.append(f"{name}: {error}, recorded {answer.get('message')}")
        except tenure.Error as error:
            problems.append(f"{name}: {error!r}")
    assert not problems, f"{len(problems)} of {succeeded + contested}:\n" + "\n".join(problems[:40])
    # As many as through the package for Node.
    assert (succeeded, contested) == (224, 36)


def test_recorded_conversations_pass_against_the_server_of_this_package(repository: Path, tmp_path: Path) -> None:
    total = 0
    for file in sorted((repository / "conformance/scenarios").glob("ssa-*.json")):
        # An object whose owners do not exist is collected at once by a server that does not wait.
        scenarios = [of for of in json.loads(file.read_text()) if of["name"] != "ssa-lists/owner-references"]
        total += len(scenarios)
        (tmp_path / file.name).write_text(json.dumps(scenarios))
    with TestServer(compatibility="kubernetes@1.36") as server:
        command = [sys.executable, str(repository / "conformance/conform.py"), "--server", server.url, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert f"{total} passed, 0 failed" in done.stdout and total > 190
