"""What is no document is an error of Python with its path; everything else comes back as it went in."""

from __future__ import annotations

import datetime
import decimal
import math
import threading
from collections import OrderedDict
from enum import IntEnum
from typing import Any, List

import pytest

import tenure
from tenure import _tenure


def echoed(value: Any) -> Any:
    return tenure.patch.json_merge({}, {"value": value}, dialect="standard")["value"]


class Size(IntEnum):
    LARGE = 3


@pytest.mark.parametrize(
    "value",
    [
        True,
        False,
        0,
        -1,
        2**63 - 1,
        -(2**63),
        2**63,
        2**64 - 1,
        0.5,
        -1.25e300,
        5e-324,
        "",
        "ä\u0000\U0001f600",
        [],
        {},
        [[], [{}], [None, 1, "x"]],
        {"": {"a.b/c~d": ["\n"]}},
    ],
)
def test_documents_come_back_as_they_went_in(value: Any) -> None:
    back = echoed(value)
    assert back == value and type(back) is type(value)


def test_what_json_writes_alike_is_alike() -> None:
    assert echoed((1, 2)) == [1, 2]
    assert echoed(OrderedDict(b=1, a=2)) == {"a": 2, "b": 1}
    assert echoed(Size.LARGE) == 3


class Model:
    def to_dict(self) -> dict:  # type: ignore[type-arg]
        return {}


LOOP: List[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("value", "kind", "part"),
    [
        ("\ud800", ValueError, "surrogate"),
        ({"\udfff": 1}, ValueError, "surrogate"),
        (2**64, ValueError, "does not fit 64 bits"),
        (-(2**63) - 1, ValueError, "does not fit 64 bits"),
        (math.nan, ValueError, "NaN"),
        (math.inf, ValueError, "inf"),
        ({1: 2}, TypeError, "the key 1 is of type int; it must be a str"),
        ({None: 2}, TypeError, "the key None is of type NoneType"),
        (datetime.datetime(2026, 1, 1), TypeError, "datetime is not part of a document; write it as text"),
        (datetime.date(2026, 1, 1), TypeError, "isoformat"),
        (b"x", TypeError, "base64"),
        ({1, 2}, TypeError, "make it a list"),
        (decimal.Decimal(1), TypeError, "make it a float"),
        (Model(), TypeError, "sanitize_for_serialization"),
        (object(), TypeError, "documents have dict, list, str"),
        (LOOP, ValueError, "more than 256 levels, or it contains itself"),
    ],
)
def test_what_is_no_document_is_an_error(value: Any, kind: type, part: str) -> None:
    with pytest.raises(kind) as raised:
        echoed(value)
    assert part in str(raised.value)
    assert str(raised.value).startswith("patch.value")


def test_an_error_has_the_path_of_the_value() -> None:
    live = {"spec": {"containers": [{"name": "a"}, {"name": b"b"}]}}
    with pytest.raises(TypeError, match=r"^live\.spec\.containers\[1\]\.name: a value of type bytes"):
        tenure.blame(live)


def test_a_document_may_have_256_levels() -> None:
    value: Any = {}
    for _ in range(254):
        value = {"a": value}
    assert echoed(value) == value
    with pytest.raises(ValueError, match="256 levels"):
        echoed({"a": {"a": value}})


def test_inputs_are_not_changed() -> None:
    live = {"spec": {"containers": [{"name": "a", "image": "x"}]}}
    patch = {"spec": {"containers": [{"name": "a", "image": None}]}}
    tenure.patch.strategic_merge(live, patch, kind="Pod")
    assert live == {"spec": {"containers": [{"name": "a", "image": "x"}]}}
    assert patch == {"spec": {"containers": [{"name": "a", "image": None}]}}


def test_a_panic_is_an_exception(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(tenure.InternalError, match="a defect of tenure: asked for"):
        _tenure.raised()


def test_threads_work_at_once() -> None:
    live = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {str(at): "v" for at in range(1000)}}
    results: List[int] = []

    def work() -> None:
        for _ in range(10):
            results.append(len(tenure.blame(live)["fields"]))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 40 and len(set(results)) == 1
