"""`toolcrib route` as a client of the backend: the answer it has by itself, sooner."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gateway_store
import pytest
import raw_host

from app.gateway.backend.rendezvous import STANDALONE_VARIABLE
from store import tools
from store.connection import open_store, transaction

ROOT = Path(__file__).parents[4]
pytestmark = pytest.mark.usefixtures("encoder_at_hand", "backends")
QUERY = "please read the note with number 7"
Verb = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def notes(home: Path) -> Path:
    """A store with one server whose tools are about notes, embedded; the database."""
    fakes = ROOT / "tests" / "fakes" / "probe_upstream.py"
    server = {"command": sys.executable, "args": [str(fakes)], "env": {"PROBE_NAME": "notes"}}
    return gateway_store.stock(home, {"notes": server}, encode=True)


@pytest.fixture
def verb(notes: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Verb:
    """verb("route", "a query") runs `toolcrib` over that store."""
    monkeypatch.delenv(STANDALONE_VARIABLE)
    monkeypatch.setenv("TOOLCRIB_BACKEND_IDLE", "60")

    def run(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        given = {"TOOLCRIB_HOME": str(home), "PYTHONPATH": str(ROOT), **environ}
        return subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "ui.main", *words],
            cwd=ROOT,
            env={**os.environ, **given},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def ranked_alone(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether the process ranked by itself: what that imports shows."""
    return "app.ranking.router" in done.stderr


def same(verb: Verb, *words: str) -> dict[str, Any]:
    """That ranking as JSON; the backend's and the process's own must be equal to the letter."""
    alone = verb("route", *words, **{STANDALONE_VARIABLE: "1"})
    light = verb("route", *words)
    assert alone.returncode == light.returncode == 0, light.stderr[-2_000:]
    assert ranked_alone(alone) and not ranked_alone(light)
    assert light.stdout == alone.stdout
    return json.loads(light.stdout) if "--json" in words else {"text": light.stdout}


def test_the_backend_answers_as_the_verb_itself_does(verb: Verb) -> None:
    assert verb("backend", "restart").returncode == 0
    first = same(verb, QUERY, "--json")
    assert first["tools"][0]["name"] == "read_note" and first["tools"][0]["iso"] is not None
    assert not same(verb, QUERY, "--json", "--words-only")["tools"][0]["iso"]
    assert "notes/read_note" in same(verb, QUERY, "--explain", "--limit", "3")["text"]
    assert same(verb, QUERY, "--server", "notes", "--json")["tools"] != first["tools"]


def test_it_sees_what_changed_since_its_last_answer(verb: Verb, notes: Path) -> None:
    verb("backend", "restart")
    assert same(verb, QUERY, "--json")["tools"][0]["in"]
    assert verb("profile", "off", "notes/read_note").returncode == 0
    off = next(t for t in same(verb, QUERY, "--json")["tools"] if t["name"] == "read_note")
    assert not off["in"] and off["gate"] == "on"


def test_without_a_backend_the_verb_ranks_by_itself_and_starts_none(
    verb: Verb, backends: Callable[[], list[object]]
) -> None:
    done = verb("route", QUERY, "--json")
    assert ranked_alone(done) and json.loads(done.stdout)["tools"]
    assert not backends()


def test_what_must_be_prepared_first_is_prepared_by_the_verb(verb: Verb, notes: Path) -> None:
    verb("backend", "restart")
    db = open_store(notes)
    try:
        with transaction(db):
            db.execute("DELETE FROM vectors")
        assert tools.tools(db)
    finally:
        db.close()
    first = verb("route", QUERY, "--json")
    assert ranked_alone(first) and json.loads(first.stdout)["tools"][0]["iso"] is not None
    second = verb("route", QUERY, "--json")
    assert not ranked_alone(second) and second.stdout == first.stdout


def test_an_unknown_profile_is_refused_in_the_same_words(verb: Verb) -> None:
    verb("backend", "restart")
    light = verb("route", QUERY, "--profile", "nobody")
    alone = verb("route", QUERY, "--profile", "nobody", **{STANDALONE_VARIABLE: "1"})
    assert light.returncode == alone.returncode == 1
    last = [done.stderr.splitlines()[-2:] for done in (light, alone)]
    assert last[0] == last[1] and "nobody" in "".join(last[0])


def test_the_light_form_imports_little(verb: Verb) -> None:
    verb("backend", "restart")
    verb("route", QUERY)
    done = verb("route", QUERY)
    heavy = ("numpy", "onnxruntime", "re2", "app.indexing", "app.ranking", "PySide6", "tiktoken")
    lines = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines()]
    assert not [name for name in lines if name.startswith(heavy)]


def test_a_new_hosts_first_search_has_the_encoder_that_is_loaded(
    verb: Verb, adapter: Callable[..., raw_host.RawHost]
) -> None:
    verb("backend", "restart")
    same(verb, QUERY)
    host = adapter()
    host.initialize()
    assert "Words only" not in host.search("please read the note with number 7")
