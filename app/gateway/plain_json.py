"""JSON by the interpreter's own functions in C, without `json`.

That package imports `re` and `enum`, a quarter of what a hook's process takes at each prompt.
"""

from store.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from store.typed import Json

_in_c: Any
try:
    import _json as _in_c
except ImportError:  # an interpreter that has no such functions
    _in_c = None

_SPACE = " \t\n\r"


class _DecoderOptions:
    """Interface of a decoder that the scanner needs: nothing special."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def read(data: bytes) -> Any:
    """The value of UTF-8 text; raises ValueError where it is no JSON."""
    text = data.decode().lstrip(_SPACE)
    if _in_c is None:
        import json

        return json.loads(text)
    try:
        value, end = _in_c.make_scanner(_DecoderOptions)(text, 0)
    except StopIteration:
        raise ValueError("no JSON") from None
    if text[end:].strip(_SPACE):
        raise ValueError("more than one value")
    return value


def written(fields: "Json") -> str:
    """An object of texts, numbers, lists and objects, to the byte as `json.dumps` writes it."""
    if _in_c is None:
        import json

        return json.dumps(fields)
    parts = [f"{_in_c.encode_basestring_ascii(name)}: {_value(fields[name])}" for name in fields]
    return "{" + ", ".join(parts) + "}"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return written(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    text: str = _in_c.encode_basestring_ascii(value) if isinstance(value, str) else repr(value)
    return text
