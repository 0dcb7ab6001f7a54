"""Finds credentials inside arguments and URLs and swaps them for `${secret:N}` and back."""

import re
from collections.abc import Iterable, Sequence

_WORD = r"(?:token|api[-_]?key|apikey|secret|passw(?:or)?d|pwd|credentials?|bearer|pat|auth|key)"
_HARMLESS = re.compile(r"(?i)[-_](file|path|dir|env|name|id|type|url|host|mode|method|server)$")
_SECRET_NAME = re.compile(rf"(?i)(?:^|[-_.]){_WORD}$|(?:token|apikey|secret|password)$")
_HEADER_FLAGS = frozenset({"--header", "-H", "--headers"})
_ASSIGNMENT = re.compile(r"(?s)^(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)=(?P<value>.+)$")
_FLAG_VALUE = re.compile(r"(?s)^(?P<flag>--?[A-Za-z][\w.-]*)(?P<sep>[=:])(?P<value>.+)$")
_HEADER = re.compile(r"(?s)^(?P<name>[A-Za-z0-9-]+)(?P<sep>\s*[:=]\s*)(?P<value>.+)$")
# Shapes that are credentials wherever they stand: GitHub, GitLab, OpenAI, Slack, AWS, JWT, Bearer.
_SHAPES = re.compile(
    r"gh[pousr]_[A-Za-z0-9_]{4,}|github_pat_\w{4,}|glpat-[\w-]{8,}|sk-[A-Za-z0-9_-]{16,}"
    r"|xox[abprs]-[\w-]{8,}|\bAKIA[0-9A-Z]{16}\b|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|(?<=[Bb]earer )[^\s\"',${]{6,}"
)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>]+")
_USERINFO = re.compile(r"^(?P<head>[A-Za-z][A-Za-z0-9+.-]*://)(?P<info>[^/?#@]*(?:@[^/?#@]*)*)@")
_QUERY = re.compile(r"(?P<lead>[?&;#])(?P<name>[^=&#;]+)=(?P<value>[^&#]*)")
_REFERENCE = re.compile(r"\$\{secret:(\d+)\}")
# A value that only names a variable, an input or a file holds no secret itself.
_INTERPOLATION = re.compile(
    r"^(?:[A-Za-z]+ )?(?:\$\{\{[^}]*\}\}|\$\{[^}]*\}|\{(?:env|file):[^}]*\}|\$\w+|\$\([^)]*\)|%\w+%"
    r"|\{\{[^}]*\}\})$"
)
MASK = "••••"


def is_secret_name(name: str) -> bool:
    """Whether a flag, variable or query parameter of this name carries a credential."""
    plain = name.lstrip("-")
    return bool(_SECRET_NAME.search(plain)) and not _HARMLESS.search(plain)


def is_interpolation(value: str) -> bool:
    """Whether a value only refers to a variable, an input or a file."""
    return bool(_INTERPOLATION.match(value.strip()))


def hide_in_args(args: Iterable[str], values: list[str]) -> list[str]:
    """Arguments with credentials replaced by references; the credentials go to `values`."""
    hidden: list[str] = []
    flag = ""
    for arg in args:
        if flag:
            hidden.append(_hide_flag_value(flag, arg, values))
            flag = ""
            continue
        hidden.append(_hide_arg(arg, values))
        if arg.startswith("-") and (arg in _HEADER_FLAGS or is_secret_name(arg)):
            flag = arg
    return hidden


def hide_in_url(url: str, values: list[str]) -> str:
    """A URL with user info and secret query values replaced by references."""
    if _REFERENCE.search(url):
        return _keep(url, values)
    return _hide_shapes(_hide_in_one_url(url, values), values)


def reveal(text: str, values: Sequence[str]) -> str:
    """The text with its references filled in; an unknown reference becomes empty."""

    def value(match: re.Match[str]) -> str:
        index = int(match[1])
        return values[index] if index < len(values) else ""

    return _REFERENCE.sub(value, text)


def mask(text: str) -> str:
    """The text with its references shown as dots."""
    return _REFERENCE.sub(MASK, text)


def _hide_flag_value(flag: str, arg: str, values: list[str]) -> str:
    if flag in _HEADER_FLAGS:
        return _hide_header(arg, values)
    if arg.startswith("--") or is_interpolation(arg):  # the flag before it was a switch
        return _hide_arg(arg, values)
    return _keep(arg, values)


def _hide_arg(arg: str, values: list[str]) -> str:
    if _REFERENCE.search(arg):  # text that looks like a reference must not be filled in later
        return _keep(arg, values)
    if match := _FLAG_VALUE.match(arg):
        flag = match["flag"]
        if flag in _HEADER_FLAGS:
            return f"{flag}{match['sep']}{_hide_header(match['value'], values)}"
        if is_secret_name(flag) and not is_interpolation(match["value"]):
            return f"{flag}{match['sep']}{_keep(match['value'], values)}"
        if inner := _hide_assignment(match["value"], values):
            return f"{flag}{match['sep']}{inner}"
    if hidden := _hide_assignment(arg, values):
        return hidden
    found = _URL.sub(lambda m: _hide_in_one_url(m[0], values), arg)
    return _hide_shapes(found, values)


def _hide_assignment(text: str, values: list[str]) -> str:
    match = _ASSIGNMENT.match(text)
    if match and is_secret_name(match["name"]) and not is_interpolation(match["value"]):
        return f"{match['name']}={_keep(match['value'], values)}"
    return ""


def _hide_header(text: str, values: list[str]) -> str:
    match = _HEADER.match(text)
    if match is None:
        return text if is_interpolation(text) else _keep(text, values)
    if is_interpolation(match["value"]):
        return text
    return f"{match['name']}{match['sep']}{_keep(match['value'], values)}"


def _hide_in_one_url(url: str, values: list[str]) -> str:
    def userinfo(match: re.Match[str]) -> str:
        user, colon, password = match["info"].partition(":")
        if not colon:
            hidden = user if is_interpolation(user) or not user else _keep(user, values)
            return f"{match['head']}{hidden}@"
        hidden = password if is_interpolation(password) else _keep(password, values)
        return f"{match['head']}{user}:{hidden}@"

    def query(match: re.Match[str]) -> str:
        value = match["value"]
        if not value or not is_secret_name(match["name"]) or is_interpolation(value):
            return match[0]
        return f"{match['lead']}{match['name']}={_keep(value, values)}"

    return _QUERY.sub(query, _USERINFO.sub(userinfo, url, count=1))


def _hide_shapes(text: str, values: list[str]) -> str:
    return _SHAPES.sub(lambda m: _keep(m[0], values), text)


def _keep(value: str, values: list[str]) -> str:
    values.append(value)
    return f"${{secret:{len(values) - 1}}}"
