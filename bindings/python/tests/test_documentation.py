"""The examples of the documentation run, each in a folder of its own and in the order of its document."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Dict, List

import pytest
from conftest import REPOSITORY


def blocks(document: Path, language: str) -> List[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", document.read_text(), re.M | re.S)


def test_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    document = REPOSITORY / "docs/python.md"
    names: Dict[str, Any] = {}
    found = blocks(document, "python")
    assert len(found) >= 4
    for at, block in enumerate(found):
        if "def test_" in block:
            continue
        exec(compile(block, f"docs/python.md, example {at + 1}", "exec"), names)


def test_examples_of_tests_pass(pytester: pytest.Pytester) -> None:
    tests = [block for block in blocks(REPOSITORY / "docs/python.md", "python") if "def test_" in block]
    assert tests
    for at, block in enumerate(tests):
        pytester.makepyfile(**{f"test_example_{at}": block})
    result = pytester.runpytest_subprocess()
    assert result.ret == 0
