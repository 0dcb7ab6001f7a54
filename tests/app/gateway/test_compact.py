"""Search answers of a bounded size: what of a tool is kept as room gets short."""

import json

from app.gateway.menu.compact import bare, describe
from app.gateway.slim import LOSSLESS
from app.hooks.signatures import cut, signature

LONG = "Searches issues. " + "It knows many things about them. " * 40
RAW = {
    "name": "search",
    "description": LONG,
    "inputSchema": {
        "type": "object",
        "properties": {
            "state": {"enum": ["open", "closed"], "description": "Which ones. " * 30},
            "labels": {"type": "array", "items": {"type": "string"}},
            "query": {"type": "string", "description": "What to look for. " * 30},
            "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 10},
            "description": {"type": "string", "title": "Description"},
        },
        "required": ["query"],
    },
}


def test_a_signature_has_what_must_be_given_first_and_names_choices() -> None:
    assert signature("s/search", RAW) == (
        's/search(query: string, state?: "open"|"closed", labels?: string[], limit?: integer,'
        " description?: string)"
    )
    for schema in (None, [], {"properties": 3}, {"properties": {"a": True}, "required": "a"}):
        assert signature("s/x", {"inputSchema": schema}).startswith("s/x(")


def test_blank_lines_before_a_description_are_left_out() -> None:
    text = describe("s/search", {"description": "\n\n  \n Finds it.\n"}, LOSSLESS)
    assert text == "s/search: Finds it.\narguments: {}"


def test_a_text_shrinks_with_its_room_and_keeps_every_parameter() -> None:
    sizes = []
    for room in (0, 1800, 900, 500, 300):
        text = describe("s/search", RAW, LOSSLESS, room)
        assert not room or len(text) <= room
        assert text.startswith("s/search")
        for name in RAW["inputSchema"]["properties"]:
            assert name in text
        sizes.append(len(text))
    assert sizes == sorted(sizes, reverse=True)
    whole = describe("s/search", RAW, LOSSLESS)
    assert json.loads(whole.partition("\narguments: ")[2])["required"] == ["query"]


def test_prose_goes_and_a_parameter_called_description_stays() -> None:
    plain = bare(RAW["inputSchema"])
    assert set(plain["properties"]) == set(RAW["inputSchema"]["properties"])
    assert plain["properties"]["state"] == {"enum": ["open", "closed"]}


def test_a_cut_ends_with_a_sentence_where_it_can() -> None:
    assert cut("One. Two three.", 6) == "One."
    assert cut("One two three four", 10) == "One two ..."
    assert cut("Short", 100) == "Short"
