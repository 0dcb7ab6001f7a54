"""Requests that name a server, and tiers."""

from dataclasses import replace

import pytest

from app.core.settings import RoutingSettings
from app.ranking import hierarchy, phrases
from app.ranking.gates import Verdict
from app.ranking.ranked import Request
from app.ranking.tiers import in_tiers

PLAIN = RoutingSettings()
BLOCK = """I need more tools.
<tool_assistant>
server: GitHub, a code hosting platform
tool: create an issue
</tool_assistant>"""


def test_a_tool_assistant_block_becomes_a_structured_request():
    asked = hierarchy.parse_request(BLOCK)
    assert (asked.server, asked.tool) == ("GitHub, a code hosting platform", "create an issue")
    assert asked.query == "create an issue"


def test_a_plain_query_stays_what_it_is():
    assert hierarchy.parse_request("list my files") == Request("list my files")
    assert hierarchy.parse_request("<tool_assistant></tool_assistant>").server == ""


@pytest.mark.parametrize(
    ("server", "tool", "expected"), [(0.5, 0.8, 0.32), (0.8, 0.5, 0.32), (-0.2, 0.9, 0.0)]
)
def test_the_score_is_the_product_times_the_greater(server, tool, expected):
    assert hierarchy.score(server, tool) == pytest.approx(expected)


def test_naming_a_server_lifts_its_tools_and_shows_as_a_part(make_router):
    listed = [
        ("alpha", "create_item", "Create an item."),
        ("omega", "create_item", "Create an item."),
        ("omega", "list_items", "List all items."),
    ]
    router, _db, _catalog = make_router(listed)
    for limit in (None, 3):
        for server in ("alpha", "omega"):
            request = Request("create an item", server=server, tool="create item")
            best = router.route(request, limit=limit).tools[0]
            assert best.tool_id == f"{server}/create_item"
            assert "Server" in dict(best.parts)
            assert sum(v for _n, v in best.parts) == pytest.approx(best.score)


def test_the_block_form_routes_like_the_request(make_router):
    router, _db, _catalog = make_router()
    ranked = router.route(BLOCK)
    assert ranked.tools[0].tool_id == "github/create_issue"


def test_an_enhanced_summary_lists_what_a_server_can_do(make_router):
    _router, _db, catalog = make_router()
    server = catalog.server("time")
    text = hierarchy.enhanced(server, catalog.of_server(server.id))
    assert text == "time can get current time"
    assert hierarchy.described(server) == "time"


def test_tiers_put_fitting_pinned_tools_first_and_drop_their_namesakes(make_router):
    listed = [
        ("a", "read", "Read a file."),
        ("b", "read", "Read a mail."),
        ("b", "send", "Send a mail."),
        ("c", "brew", "Make a cup of coffee."),
    ]
    router, _db, _catalog = make_router(listed)
    ranked = router.route("read a mail").tools

    def told(*pinned, settings=PLAIN):
        ids = {tool.id for tool in ranked if tool.tool_id in pinned}
        # the router lets pinned tools in whatever they score
        seen = [replace(t, verdict=Verdict("")) if t.id in ids else t for t in ranked]
        return [tool.tool_id for tool in in_tiers(seen, ids, settings) if tool.shown]

    assert told() == ["b/read", "a/read"]
    assert told("a/read") == ["a/read"], "its namesake is left out"
    assert told("b/send") == ["b/read", "a/read"], "it does not fit, and is in the list anyway"
    assert told("b/send", settings=replace(PLAIN, delta=0.6))[0] == "b/send"
    assert told("a/read", settings=replace(PLAIN, cut="theta", theta=0.99)) == ["b/read"]


def test_the_tier_of_a_tool_is_named_where_it_is_in():
    assert phrases.found_in(Verdict("", pinned=True)).startswith("Pinned by you (expert tier), so ")
    labelled = phrases.found_in(Verdict(""), is_labelled=True)
    assert labelled.startswith("Labelled by you for this query (expert tier), so ")
    assert phrases.found_in(Verdict("")).startswith(
        "Found by comparing its text with the query (dense tier). "
    )
    assert phrases.found_in(Verdict("score")) == ""
