"""Lines are forwarded byte for byte under another id, and mended where they are broken."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.mcp import jsonrpc


@pytest.fixture(autouse=True, params=["at the start", "sped up"], scope="module")
def reader(request):
    """The same holds before and after orjson is used."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonrpc, "_FAST", [])
        if request.param == "sped up":
            jsonrpc.speed_up()
        yield


values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.text(),
        st.floats(allow_nan=False, allow_infinity=False),
    ),
    lambda v: st.one_of(st.lists(v), st.dictionaries(st.sampled_from(["id", "result", "x"]), v)),
    max_leaves=8,
)
ids = st.one_of(st.integers(), st.text())


@given(
    number=ids,
    new=st.one_of(st.integers(0), st.just("toolcrib-1")),
    body=values,
    order=st.permutations(["jsonrpc", "id", "result"]),
    ascii_only=st.booleans(),
    separators=st.sampled_from([(", ", ": "), (",", ":")]),
)
def test_only_the_id_changes(number, new, body, order, ascii_only, separators):
    parts = {"jsonrpc": "2.0", "id": number, "result": body}
    message = {key: parts[key] for key in order}
    text = json.dumps(message, ensure_ascii=ascii_only, separators=separators)
    line = text.encode("utf-8", "surrogatepass") + b"\n"
    (parsed,), clean = jsonrpc.parse(line)
    assert json.loads(jsonrpc.with_id(line if clean else b"", parsed, new)) == {**parsed, "id": new}


def test_numbers_spaces_and_key_order_stay_as_they_were():
    line = b'{"jsonrpc": "2.0",  "id": 7, "result": {"b": 1.50, "n": 12345678901234567890}}\r\n'
    (message,), clean = jsonrpc.parse(line)
    assert clean
    assert jsonrpc.with_id(line, message, 9) == line.replace(b"7", b"9", 1).rstrip()
    head = b'{"jsonrpc":"2.0","id":7,"result":{"b":1.50,"id":7}}\r\n'
    assert jsonrpc.with_id(head, json.loads(head), 12) == head.replace(b"7", b"12", 1).rstrip()
    last = b'{"result":{"b":1.50,"jsonrpc":"2.0","id":7},"jsonrpc":"2.0","id":7}\n'
    assert jsonrpc.with_id(last, json.loads(last), 12) == last[:-3] + b"12}"
    tail = b'{"result":{"content":[{"id":5}]},"jsonrpc":"2.0","id":7}'
    assert jsonrpc.with_id(tail, json.loads(tail), "x") == tail[:-2] + b'"x"}'


def test_an_id_inside_is_never_mistaken_for_the_messages_own():
    line = b'{"result":{"text":"\\"id\\":7}","id":7},"x":{"id":8},"id":7,"y":1}'
    assert json.loads(jsonrpc.with_id(line, json.loads(line), 1))["result"]["id"] == 7


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b'{"id":1,"result":"a\xff"}', "a\ufffd"),
        (b'{"id":1,"result":NaN}', None),
        (b'{"id":1,"result":"a\tb"}', "a\tb"),
    ],
)
def test_what_is_broken_is_mended_and_written_anew(line, text):
    (message,), clean = jsonrpc.parse(line)
    assert not clean and message["result"] == text
    assert json.loads(jsonrpc.with_id(b"", message, 2)) == {"id": 2, "result": text}


@pytest.mark.parametrize("line", [b"hello", b"7", b"[]", b"[1]", b"[" * 100_000, b'{"a":'])
def test_what_is_no_message_is_refused(line):
    with pytest.raises(jsonrpc.NotJsonError):
        jsonrpc.parse(line)


def test_a_batch_is_several_messages():
    found, clean = jsonrpc.parse(b'[{"id":1,"method":"ping"},{"method":"x"}]')
    assert len(found) == 2 and not clean


def test_half_a_surrogate_pair_survives_as_an_escape():
    assert jsonrpc.dump({"x": "\ud800"}) == b'{"x":"\\ud800"}'


def test_a_rewritten_message_keeps_long_integers_and_lone_surrogates():
    line = b'{"jsonrpc":"2.0","id":1,"n":12345678901234567890123,"s":"\\ud800","f":1e22}'
    (message,), clean = jsonrpc.parse(line)
    assert clean
    written = jsonrpc.dump({**message, "id": 2})
    assert json.loads(written) == {**json.loads(line), "id": 2}
    assert b"12345678901234567890123" in written
