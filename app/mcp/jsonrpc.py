"""JSON-RPC messages as lines of bytes: parsed leniently, forwarded byte for byte."""

import json
import re

from app.mcp.limits import NotJsonError as NotJsonError
from app.mcp.limits import check_shape
from store.typed import Any, Json

_ID = rb'"id"\s*:\s*(-?\d+|"[^"\\]*")\s*'
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"\s*'
_METHOD = rb'"method"\s*:\s*"[^"\\]*"\s*'
# the places where every known library puts a message's id; nothing nested can match
_HEAD = rb"\s*\{\s*(?:(?:" + _VERSION + rb"|" + _METHOD + rb"),\s*){0,2}" + _ID + rb"[,}]"
_TAIL = _ID + rb"(?:,\s*" + _VERSION + rb")?\}\s*\Z"
_TAIL_BYTES = 256
# orjson rounds integers beyond 64 bits; digits as zeros are found nine times as fast as by a regex
_AS_ZEROS = bytes(48 if 48 <= byte <= 57 else byte for byte in range(256))
_LONG_NUMBER = b"0" * 19


def _refuse_constant(_name: str) -> None:
    raise ValueError("NaN and Infinity are not JSON")


_FAST: list[Any] = []  # orjson, once it is loaded
_STRICT = json.JSONDecoder(parse_constant=_refuse_constant)
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_LENIENT = json.JSONDecoder(parse_constant=lambda _name: None, strict=False)


def speed_up() -> None:
    """Use orjson from now on: messages will be many. A start must not pay for it (8 ms)."""
    import orjson

    _FAST[:] = [orjson]


def parse(line: bytes) -> tuple[list[Json], bool]:
    """The messages of one line; True if its bytes may be forwarded as they are.

    Invalid UTF-8, NaN and raw control characters are repaired, so that an answer still arrives.
    Raises NotJsonError, and TooLargeError before anything is parsed.
    """
    check_shape(line)
    try:
        value, clean = _read(line), True
    except (ValueError, RecursionError):
        value, clean = _repaired(line), False
    if isinstance(value, dict):
        return [value], clean
    if not isinstance(value, list) or not value or not all(isinstance(m, dict) for m in value):
        raise NotJsonError
    return value, False


def _read(line: bytes) -> object:
    """Value of one line; the standard library reads what orjson cannot, or would change."""
    if _FAST and _LONG_NUMBER not in line.translate(_AS_ZEROS):
        try:
            return _FAST[0].loads(line)
        except ValueError:  # lone surrogates, deep nesting, or no JSON at all
            pass
    return _STRICT.decode(line.decode("utf-8"))


def _repaired(line: bytes) -> object:
    try:
        return _LENIENT.decode(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise NotJsonError from error


def dump(message: object) -> bytes:
    """A message, or a part of one, as compact JSON; text stays UTF-8 where it is Unicode."""
    if _FAST:
        try:
            written: bytes = _FAST[0].dumps(message)
            return written
        except TypeError:  # a long integer, deep nesting, a lone surrogate
            pass
    try:
        return _COMPACT.encode(message).encode()
    except UnicodeEncodeError:  # lone surrogates survive only as escapes
        return json.dumps(message, separators=(",", ":")).encode()


def with_id(line: bytes, message: Json, new_id: int | str) -> bytes:
    """The message under another id: spliced into the line, or written anew.

    `line` is b"" when its bytes may not be forwarded.
    """
    old = message.get("id")
    if line and type(old) is int and type(new_id) is int:
        # as the TypeScript and the Python SDK end and begin their lines: two to three times as fast
        usual = b',"jsonrpc":"2.0","id":%d}\n' % old
        if line.endswith(usual):
            return b'%b,"jsonrpc":"2.0","id":%d}' % (line[: -len(usual)], new_id)
        usual = b'{"jsonrpc":"2.0","id":%d,' % old
        if line.startswith(usual):
            return b'{"jsonrpc":"2.0","id":%d,%b' % (new_id, line[len(usual) :].rstrip())
    match = _id_match(line) if line else None
    if match and match[1] == dump(old):
        number = str(new_id) if type(new_id) is int else json.dumps(new_id)
        return line[: match.start(1)] + number.encode() + line[match.end(1) :].rstrip()
    return dump({**message, "id": new_id})


def _id_match(line: bytes) -> re.Match[bytes] | None:
    # compiled here: most processes never come here (re remembers)
    tail = max(0, len(line) - _TAIL_BYTES)
    return re.compile(_HEAD).match(line) or re.compile(_TAIL).search(line, tail)


def number_of(line: bytes) -> int:
    """The id of a message that may be unreadable, if it is a number; else -1."""
    number = id_of(line)
    return number if isinstance(number, int) and number >= 0 else -1


def id_of(line: bytes) -> int | str | None:
    """The id of a message that may be unreadable, None where it cannot be seen."""
    id_match = _id_match(line)
    written = id_match[1] if id_match else b""
    if written.startswith(b'"'):
        return written[1:-1].decode("utf-8", "replace")
    return int(written) if written and len(written) < len(_LONG_NUMBER) else None


def request(method: str, params: Json | None = None, request_id: object = 0) -> Json:
    """A request; who sends it gives it an id of its own."""
    message: Json = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message if params is None else {**message, "params": params}


def result(request_id: object, value: Json) -> Json:
    """A successful answer."""
    return {"jsonrpc": "2.0", "id": request_id, "result": value}


def error(request_id: object, code: int, text: str, data: object = None) -> Json:
    """An error answer."""
    body: Json = {"code": code, "message": text}
    if data is not None:
        body["data"] = data
    return {"jsonrpc": "2.0", "id": request_id, "error": body}


def notification(method: str, params: Json | None = None) -> Json:
    """A notification."""
    message: Json = {"jsonrpc": "2.0", "method": method}
    return message if params is None else {**message, "params": params}
