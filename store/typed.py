"""Parts of typing for annotations, where importing it would be a tenth of a process's start.

Type checkers see the real names; at run time an annotation says nothing. Also what reads parsed
JSON that may hold anything, and writes it.
"""

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any as Any
    from typing import Protocol as Protocol
else:
    Any = Protocol = object

if TYPE_CHECKING:
    Json = dict[str, Any]  # an object of JSON text, as it was parsed
    JsonMapping = Mapping[str, Any]  # the same where it is only read
else:
    Json = JsonMapping = dict


def object_or_empty(value: object) -> Json:
    """`value` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_or_empty(value: object) -> list[Any]:
    """`value` if it is a JSON list, else an empty one."""
    return value if isinstance(value, list) else []


def compact_json(value: object) -> str:
    """`value` as JSON text without needless spaces, other scripts as they are."""
    import json  # a host's hook starts without it

    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
