"""Areas are in proportion to tokens, and fill the map."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.pages.catalog.treemap_layout import Box, Group, Item, lay_out, squarify


def group(name: str, *tokens: int) -> Group:
    first = len(name) * 1000
    items = (Item(first + n, f"t{n}", t, on=True, held=False) for n, t in enumerate(tokens))
    return Group(name, 0, tuple(items))


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=60))
def test_boxes_fill_the_area_in_proportion(values: list[int]):
    values.sort(reverse=True)
    area = Box(3, 5, 640, 200)
    boxes = squarify(values, area)
    scale = area.width * area.height / sum(values)
    for value, box in zip(values, boxes, strict=True):
        assert box.width * box.height == pytest.approx(value * scale, rel=1e-6)
        assert box.x >= 3 - 1e-6 and box.y >= 5 - 1e-6
        assert box.x + box.width <= 643 + 1e-6 and box.y + box.height <= 205 + 1e-6


def test_two_servers_have_areas_like_their_tokens():
    fields = lay_out([group("a", 3000, 1000), group("bb", 1000, 1000)], Box(0, 0, 800, 400))
    one, two = (f.box.width * f.box.height for f in fields)
    assert one / two == pytest.approx(2, rel=0.02)


def test_small_tools_share_a_cell():
    fields = lay_out([group("a", 100_000, *[1] * 50)], Box(0, 0, 400, 100))
    cells = fields[0].cells
    assert [len(cell.items) for cell in cells] == [1, 50]


@pytest.mark.parametrize("area", [Box(0, 0, 0, 0), Box(0, 0, 5, 300), Box(0, 0, 300, 5)])
def test_no_room_is_no_error(area: Box):
    lay_out([group("a", 10, 20), group("bb", 0)], area)


def test_servers_without_tokens_have_no_area():
    assert lay_out([group("a"), group("bb", 0)], Box(0, 0, 100, 100)) == ()


@pytest.mark.parametrize(
    ("names", "prefix"),
    [
        (("hubspot-list-objects", "hubspot-get-schemas"), "hubspot-"),
        (("git_status", "git_stash"), "git_"),
        (("read_file", "read_text"), "read_"),
        (("read", "read_text"), ""),
        (("alerting_rules", "query_loki"), ""),
        (("git_status",), ""),
    ],
)
def test_labels_leave_out_what_all_names_of_a_server_begin_with(names, prefix):
    items = (Item(n, name, 10, on=True, held=False) for n, name in enumerate(names))
    assert Group("a", 0, tuple(items)).prefix == prefix
