"""Colours of servers: by size at first sight, then kept."""

from dataclasses import replace

from app.catalog.catalog import load_catalog
from ui.widgets.shares import MENU, ServerPlaces, host_shares, server_shares


def test_a_server_keeps_its_colour_when_another_grows(ctx, demo):
    db = ctx.open_store()
    demo.fill(db)
    catalog = load_catalog(db)
    db.close()
    places = ServerPlaces()
    before = {s.server: s.place for s in server_shares(catalog, places)}
    smallest = server_shares(catalog, places)[-1].server
    kept = tuple(t for t in catalog.tools if t.server.name == smallest)
    after = server_shares(replace(catalog, tools=kept), places)
    assert {s.server: s.place for s in after} == before
    assert ServerPlaces(places.names).of(smallest) == before[smallest]  # also after a restart


def test_the_gateways_menu_is_a_part_of_its_own(ctx, demo):
    db = ctx.open_store()
    demo.fill(db)
    catalog = load_catalog(db)
    db.close()
    shares = host_shares(catalog, (), 210)
    assert [(s.server, s.shown) for s in shares if s.shown] == [(MENU, 210)]
