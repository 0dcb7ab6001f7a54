"""The tool that a call of another tool names: a server's own call_tool, execute_action, run_tool.

Light: the gateway looks at every call, and nearly none names another tool.
"""

import re

VERB = r"(?i)(?:^|[-_.]|\b)(?:call|execute|exec|run|invoke|use|perform)(?:$|[-_.A-Z])"
NAME_FIELDS = frozenset(
    {"tool", "tool_name", "toolname", "name", "action", "function", "function_name", "method",
     "operation", "tool_id", "command", "command_name"}
)  # fmt: skip
ARGUMENT_FIELDS = frozenset(
    {"arguments", "args", "tool_input", "toolinput", "parameters", "params", "input", "payload",
     "tool_args", "tool_arguments", "kwargs"}
)  # fmt: skip


def name_behind(tool: object, arguments: object) -> str:
    """The tool that a call of another one names, "" for a call that names none."""
    if not isinstance(arguments, dict) or len(arguments) < 2:  # a name and its arguments
        return ""
    fields = {str(field).lower().replace("-", "_"): value for field, value in arguments.items()}
    if ARGUMENT_FIELDS.isdisjoint(fields) or not re.search(VERB, str(tool)):
        return ""
    names = (fields[field] for field in sorted(fields.keys() & NAME_FIELDS))
    return next((n for n in names if isinstance(n, str) and _is_name(n)), "")


def _is_name(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z][\w./:-]{1,99}", text) is not None
