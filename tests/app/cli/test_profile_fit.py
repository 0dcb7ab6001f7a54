"""`toolcrib profile fit`: which tools of a server fit in the budget, shown and then ticked."""

import json
from collections.abc import Callable

import apsw
import pytest

from app.catalog.catalog import load_catalog
from app.cli.main import run
from app.core.context import AppContext
from store import market, profiles, search, tools
from store.connection import transaction
from store.market import MarketInstall


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert run([*words, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_the_search_that_found_it_decides_and_ticks_follow_only_when_asked(
    ctx: AppContext,
    db: apsw.Connection,
    add_server: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    server = add_server("pdf", "rotate_page", "extract_text", "draw_line")
    with transaction(db):
        rows = [(t.id, t.name.replace("_", " "), "", "", "", "") for t in tools.tools(db)]
        search.save_keywords(db, rows)
        record = profiles.by_name(db, "default")
        assert record
        profiles.save_settings(db, record.id, {"budget": {"tokens": 250}})
        market.save_install(
            db, MarketInstall(server, "https://x", "a/pdf", "1", 1, 1.0, query="extract the text")
        )
    shown = answer(capsys, "profile", "fit", "pdf", "--words-only")
    assert (shown["on"], shown["proposed"]) == (["pdf/extract_text"], "PASS")
    assert shown["all_on"] == "BLOCK" and shown["applied"] is False
    assert len(load_catalog(db).shown) == 3
    other = answer(capsys, "profile", "fit", "pdf", "--for", "rotate", "--words-only", "--apply")
    assert other["on"] == ["pdf/rotate_page"]
    assert [t.tool.name for t in load_catalog(db).shown] == ["rotate_page"]
