import hashlib
import json
from importlib.resources import files

import pytest

from app.core.errors import ToolcribError
from app.encoder import delta
from app.encoder.delta import DELTA_SHA256, read_delta, with_delta

FOLDER = files("resources").joinpath("encoder")


def test_the_shipped_factors_are_those_of_their_report() -> None:
    report = json.loads(FOLDER.joinpath("report.json").read_text(encoding="utf-8"))
    assert hashlib.sha256(read_delta()).hexdigest() == report["sha256"] == DELTA_SHA256
    assert len(read_delta()) <= 2_000_000


def test_other_factors_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta, "DELTA_SHA256", "0" * 64)
    with pytest.raises(ToolcribError, match="resources/encoder"):
        read_delta()


def test_another_delta_is_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = with_delta("0" * 64)
    monkeypatch.setattr(delta, "DELTA_SHA256", "1" * 64)
    assert with_delta("0" * 64) != before != "0" * 64


def test_nothing_that_judges_was_trained_on() -> None:
    report = json.loads(FOLDER.joinpath("report.json").read_text(encoding="utf-8"))
    servers = {*report["servers"], *report["tuning servers"]}
    judges = {"filesystem", "everything", "memory", "github", "gitlab", "slack", "playwright"}
    assert not servers & (judges | {"notion", "git", "time"} | _servers_of_queries())
    assert not {*report["servers"]} & {*report["tuning servers"]}


def _servers_of_queries() -> set[str]:
    names = ("developers.jsonl", "natural.jsonl", "more.jsonl")
    folder = files("resources").joinpath("queries")
    lines = [line for n in names for line in folder.joinpath(n).read_text("utf-8").splitlines()]
    return {tool.partition("/")[0] for line in lines for tool in json.loads(line)["gold"]}
