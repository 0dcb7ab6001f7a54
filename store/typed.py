"""Parts of typing for annotations, where importing it would be a tenth of a process's start.

Type checkers see the real names; at run time an annotation says nothing. Also the two readers of
parsed JSON that may hold anything.
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


def json_object(value: object) -> Json:
    """`value` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def json_list(value: object) -> list[Any]:
    """`value` if it is a JSON list, else an empty one."""
    return value if isinstance(value, list) else []
