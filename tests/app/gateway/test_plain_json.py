"""The hook's JSON against `json`, on whatever text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gateway.plain_json import read, written

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
fields = st.dictionaries(
    st.text(),
    st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    max_size=4,
)


@given(values, st.sampled_from(["", " ", "\r\n\t"]))
def test_what_json_writes_is_read_alike(value: object, space: str) -> None:
    assert read(f"{space}{json.dumps(value)}{space}".encode()) == value
    assert read(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")) == value


@given(fields, st.text())
def test_what_is_written_is_the_same_to_the_byte(made: dict[str, object], name: str) -> None:
    assert written(made) == json.dumps(made)
    assert written({name: made}) == json.dumps({name: made})
    assert written({name: [name, made, []]}) == json.dumps({name: [name, made, []]})


@pytest.mark.parametrize("data", [b"", b" ", b"{", b'{"a" 1}', b"1 2", b"\xff", b'"a', b"nul"])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        read(data)
