"""Colours of servers: the largest have them, and keep them while a session lasts."""

from dataclasses import replace

from app.catalog.catalog import load_catalog
from ui.look.colors import DARK, LIGHT
from ui.widgets.shares import COLORED, MENU, ServerPlaces, host_shares, server_shares


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


def test_the_largest_servers_are_coloured_and_not_the_first_by_name(ctx, demo):
    sizes = [(f"server-{n:02}", 100 * (n + 1)) for n in range(21)]
    some = [demo.DemoServer(name, (demo.DemoTool("one", size),)) for name, size in sizes]
    db = ctx.open_store()
    demo.fill(db, some)
    catalog = load_catalog(db)
    db.close()
    unread = replace(catalog, tools=())
    places = ServerPlaces()
    server_shares(unread, places)  # as at the first start: nothing was read yet
    shares = server_shares(catalog, places)
    assert {s.server for s in shares if s.place < COLORED} == {name for name, _ in sizes[-COLORED:]}
    assert len({s.place for s in shares}) == len(shares)


def test_a_server_that_grows_takes_the_colour_of_the_one_that_it_overtakes():
    places = ServerPlaces()
    names = [f"s{n}" for n in range(9)]
    places.arrange(names)
    before = {name: places.of(name) for name in names}
    places.arrange(["s8", *names[:8]])
    assert places.of("s8") == before["s6"], "the smallest of the seven gives its colour"
    assert all(places.of(name) == before[name] for name in names[:6])
    assert len(LIGHT.servers) == len(DARK.servers) == COLORED + 1


def test_the_gateways_menu_is_a_part_of_its_own(ctx, demo):
    db = ctx.open_store()
    demo.fill(db)
    catalog = load_catalog(db)
    db.close()
    shares = host_shares(catalog, (), 210)
    assert [(s.server, s.shown) for s in shares if s.shown] == [(MENU, 210)]
