"""The program that the package puts on the PATH."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import tenure

TENURE = str(Path(sys.executable).parent / "tenure")


def run(*arguments: str, **options: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([TENURE, *arguments], capture_output=True, text=True, **options)  # type: ignore[call-overload,no-any-return]


def test_the_program_is_the_binary() -> None:
    shown = run("--version").stdout.splitlines()
    assert shown[0] == f"tenure {tenure.__version__}" and tenure.KUBERNETES_VERSION in shown[-1]
    assert subprocess.run([sys.executable, "-m", "tenure", "--version"], capture_output=True, text=True).stdout.splitlines() == shown


def test_exit_codes_and_errors_are_those_of_the_binary(tmp_path: Path) -> None:
    live = tmp_path / "live.json"
    live.write_text(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}))
    shown = run("fields", "decode", "-", input='[4,"spec",[0,"replicas"]]')
    assert (shown.returncode, shown.stdout) == (0, ".spec.replicas\n")
    assert run("patch", "lint", str(tmp_path / "none")).returncode == 1
    wrong = run("blmae")
    assert wrong.returncode == 1 and "blame" in wrong.stderr


def test_test_frameworks_start_the_script(tmp_path: Path) -> None:
    installed = run("envtest", "install", str(tmp_path / "assets"))
    assert installed.returncode == 0, installed.stderr
    link = tmp_path / "assets" / "kube-apiserver"
    assert os.readlink(link) == os.path.realpath(TENURE)
    shown = subprocess.run([str(link), "--no-such-flag"], capture_output=True, text=True)
    assert "See 'kube-apiserver --help' for usage." in shown.stderr
