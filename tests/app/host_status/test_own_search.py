"""What Claude Code's own search misses of the labelled queries, as a recommendation."""

from dataclasses import replace

import pytest

from app.core.settings import Settings
from app.export.wrapping import narrowed_servers
from app.host_status.overview import survey
from app.host_status.own_search import advised, hint_gain, host_alone, look, own_search, recommends
from app.hosts.facts import host
from store import queries, requests, servers, tools
from store.connection import transaction
from store.records import LabelRecord, NewTool, RequestRecord

CLAUDE = host("claude-code")
LETTERS = "please send my aunt a letter"


@pytest.fixture
def office(world, ctx):
    """Claude Code with three tools, of which keywords show one."""
    world.write(".claude.json", {"mcpServers": {"stub": {"command": "x"}}})
    world.learn(("send_mail", "getInvoice", "list_rooms"))
    texts = {"send_mail": "Send a letter.", "getInvoice": "Fetches bills.", "list_rooms": "Rooms."}
    raw = [
        NewTool(name, {"name": name, "description": text, "inputSchema": {}}, f"{name}2")
        for name, text in texts.items()
    ]
    with transaction(world.db):
        (server,) = servers.all_servers(world.db)
        tools.save_list(world.db, server.id, raw, at=2.0)
    return world


def label(world, *pairs):
    with transaction(world.db):
        rows = [LabelRecord(0, query, (tool,), "typed", 1.0) for query, tool in pairs]
        queries.save_labels(world.db, rows)


def test_nothing_is_said_without_labels_nor_of_a_host_whose_search_is_not_known(office):
    assert own_search(office.db, CLAUDE, office.catalog, None) is None
    label(office, (LETTERS, "stub/send_mail"))
    assert own_search(office.db, host("cursor"), office.catalog, None) is None
    label(office, ("make coffee", "kitchen/brew"))
    seen = own_search(office.db, CLAUDE, office.catalog, None)
    assert (seen.queries, seen.own) == (1, 1), "a query whose tools the host lacks is not counted"


def test_the_sentence_has_the_figures_and_their_source(office):
    label(office, (LETTERS, "stub/send_mail"), ("the invoices of May", "stub/getInvoice"))
    seen = replace(own_search(office.db, CLAUDE, office.catalog, None), ours=2, words_only=False)
    assert (seen.queries, seen.own) == (2, 1)
    assert seen.sentence == (
        "Claude Code's own search (emulated, 2.1.330) misses 1 of 2 labelled queries;"
        " Toolcrib finds 2."
    )
    assert replace(seen, words_only=True).sentence.endswith("Toolcrib finds 2 by words alone.")


def test_a_query_that_is_a_tools_request_is_not_counted(office):
    label(office, (LETTERS, "stub/send_mail"), ("the invoices of May", "stub/getInvoice"))
    row = office.catalog.find("stub/getInvoice").tool
    with transaction(office.db):
        requests.add(office.db, [RequestRecord(0, row.id, "The invoices of May", "label", "h")])
        requests.mark_live(office.db, {row.id: "h"})
    assert own_search(office.db, CLAUDE, office.catalog, None).queries == 1


def test_it_recommends_only_where_toolcrib_finds_more_and_does_not_serve_already(office):
    label(office, (LETTERS, "stub/send_mail"))
    seen = own_search(office.db, CLAUDE, office.catalog, None)
    (status,) = (s for s in survey(office.db, office.places, office.catalog) if s.host == CLAUDE)
    assert status.recommendation.mode != "through"
    better = replace(seen, own=0, ours=1)
    advice = advised(status, better).recommendation
    assert advice.mode == "through" and advice.hook
    assert advice.reason.startswith(better.sentence)
    assert advised(status, replace(better, own=1)) == advised(status, None) == status
    assert not recommends(replace(status, mode="through"), better)


def test_the_figures_are_looked_for_where_the_host_is_here(office, ctx):
    rows = survey(office.db, office.places, office.catalog)
    model = Settings().model
    assert look(office.db, ctx.paths, model, rows, office.catalog) == {}
    label(office, (LETTERS, "stub/send_mail"))
    assert list(look(office.db, ctx.paths, model, rows, office.catalog)) == ["claude-code"]
    away = tuple(replace(row, state="not found") for row in rows)
    assert look(office.db, ctx.paths, model, away, office.catalog) == {}


def test_what_hints_are_worth_is_judged_without_the_query_itself(office):
    label(office, ("bill overdue", "stub/getInvoice"))
    first = host_alone(office.db, CLAUDE, office.catalog)
    assert (first.own, first.hinted) == (0, 0), "its own words would make every hint perfect"
    label(office, ("overdue bill", "stub/getInvoice"))
    alone = host_alone(office.db, CLAUDE, office.catalog)
    assert (alone.own, alone.hinted) == (0, 2), "one query's words are the other's hint"
    assert hint_gain(office.db, office.catalog) == (
        "With words made without the query itself the search (emulated, 2.1.330) finds"
        " 2 of 2 labelled queries, without any 0."
    )
    assert own_search(office.db, CLAUDE, office.catalog, None).hinted == 2


def test_words_that_a_server_wrote_itself_stay(office):
    """As in the gateway, which adds a hint only where the server gives none."""
    own = {"name": "getInvoice", "description": "Fetches bills.", "inputSchema": {}}
    own["_meta"] = {"anthropic/searchHint": "ledger"}
    with transaction(office.db):
        (server,) = servers.all_servers(office.db)
        tools.save_list(office.db, server.id, [NewTool("getInvoice", own, "own")], at=3.0)
    label(office, ("bill overdue", "stub/getInvoice"), ("overdue bill", "stub/getInvoice"))
    alone = host_alone(office.db, CLAUDE, office.catalog)
    assert (alone.own, alone.hinted) == (0, 0)


def test_hints_put_every_server_behind_the_gateway_in_pruned_mode(office):
    settings = office.catalog.settings
    assert settings.gateway.search_hints is False
    office.on("stub/*")
    plain = replace(office.catalog, tools=tuple(t for t in office.catalog.tools if t.shown))
    asks = replace(settings, gateway=replace(settings.gateway, search_hints=True))
    (server,) = office.catalog.servers
    assert narrowed_servers(replace(plain, settings=asks)) == {server.id}
    assert narrowed_servers(plain) == frozenset()
