"""Finds credentials inside arguments and URLs and swaps them for `${secret:N}` and back."""

import base64
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from app.core.scrubber import HIDDEN, SHORTEST
from app.secrets.plain_values import is_interpolation, is_plain, looks_random

_WORD = (
    r"(?:tokens?|api[-_]?keys?|apikey|secrets?|pass|passw(?:or)?d|passphrase|pwd|pw|credentials?"
    r"|creds|bearer|pat|pin|otp|totp|auth|authorization|cookie|jwt|key|sas|sig|signature|dsn)"
)
_HARMLESS = re.compile(
    r"(?i)[-_.](file|path|dir|env|name|id|type|url|uri|host|mode|method|server|limit|length|size"
    r"|count|budget|ttl|prefix|timeout|expiry|endpoint|region|scheme|provider|enabled|required|var|vars)$"
    r"|^(?:max|min|num)[-_]"
)
_SECRET_NAME = re.compile(
    rf"(?i)(?:^|[-_.]){_WORD}\d*$|(?:token|apikey|secret|password|passwd|passphrase)$"
    r"|(?:^|[-_.])(?:token|api[-_]?key|secret|password|passwd|credentials?)[-_.]"
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_HEADER_FLAGS = frozenset({"--header", "-H", "--headers"})
_SHORT_FLAGS = frozenset({"-p", "-P", "-k", "-w"})  # a password, or a port, a package, a path
_ASSIGNMENT = re.compile(r"(?s)^(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)=(?P<value>.+)$")
_FLAG_VALUE = re.compile(r"(?s)^(?P<flag>--?[A-Za-z][\w.-]*)(?P<sep>[=:])(?P<value>.+)$")
_HEADER = re.compile(r"(?s)^(?P<name>[A-Za-z0-9-]+)(?P<sep>\s*[:=]\s*)(?P<value>.+)$")
# Shapes that are credentials anywhere: GitHub, GitLab, OpenAI, Slack, AWS, Google, Stripe, npm,
# Hugging Face, Linear, SendGrid, private keys.
VENDOR_SHAPES = (
    r"gh[pousr]_[A-Za-z0-9_]{4,}|github_pat_\w{4,}|glpat-[\w-]{8,}|sk-[A-Za-z0-9_-]{16,}"
    r"|xox[abprs]-[\w-]{8,}|\bA(?:KIA|SIA)[0-9A-Z]{16}\b|\bAIza[\w-]{30,}"
    r"|\b[rs]k_(?:live|test)_[A-Za-z0-9]{8,}|\bnpm_[A-Za-z0-9]{20,}|\bhf_[A-Za-z0-9]{16,}"
    r"|\blin_api_[A-Za-z0-9]{16,}|\bSG\.[\w-]{16,}\.[\w-]{16,}"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]*"
)
_SHAPES = re.compile(
    VENDOR_SHAPES + r"|(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|(?<=[Bb]earer )[^\s\"',${]{6,}|(?<=[Bb]asic )[A-Za-z0-9+/=]{8,}"
)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,40}://[^\s\"'<>]+")
_USERINFO = re.compile(r"^(?P<head>[A-Za-z][A-Za-z0-9+.-]*://)(?P<info>[^/?#@]*(?:@[^/?#@]*)*)@")
_QUERY = re.compile(r"(?P<lead>[?&;#])(?P<name>[^=&#;]+)=(?P<value>[^&#]*)")
_SEGMENT = re.compile(r"(?<=/)[^/?#@:]+")
_LABEL = re.compile(r"[^.:@\[\]?#]+")
_JSON_PAIR = re.compile(
    r'(?P<head>(?<!\\)\\*"(?P<name>[^"\\]+)\\*"\s*:\s*\\*")(?P<value>(?:[^"\\]|\\[^"])+)(?=\\*")'
)
_JSON_NUMBER = re.compile(r'(?P<head>"(?P<name>[^"\\]+)"\s*:\s*)(?P<value>\d{4,})')
# in a script, a connection string or a sentence: the value ends where the next thing begins
_NAMED = re.compile(
    r"(?P<head>(?<![\w-])--?(?P<flag>[A-Za-z][\w.-]*)[ =]"
    r"|(?<![\w.-])(?P<name>[A-Za-z][\w.-]*)\s*[=:]\s*)"
    r"(?P<quote>[\"']?)(?P<value>\$\([^)]*\)|\$\{[^}]*\}|[^\s;&|,\"'<>()`]+)"
)
_TOKEN = re.compile(r"[^\s\"'`;|<>(){}\[\],$]+")
_REFERENCE = re.compile(r"\$\{secret:(\d+)\}")
_BESIDE_REFERENCES = re.compile(r"(\$\{secret:\d+\})")
# passwords out of every manual; hiding them would blot words out of tools' texts
_DEFAULTS = frozenset(
    {"admin123", "changeme", "default", "elastic", "example", "minioadmin", "password", "postgres"}
    | {"redis", "secret", "rabbitmq", "mysql", "neo4j", "mongodb", "localhost", "anonymous"}
)
MASK = HIDDEN
_LONG_LINE = 16  # characters of one line of a key


def is_secret_name(name: str) -> bool:
    """True if a flag, variable or query parameter of this name carries a credential."""
    plain = _HUMP.sub("-", name.lstrip("-"))
    return bool(_SECRET_NAME.search(plain)) and not _HARMLESS.search(plain)


def hide_in_args(args: Iterable[str], values: list[str], *, unknown: bool = False) -> list[str]:
    """Arguments with credentials replaced by references; the credentials go to `values`.

    With `unknown`, values that may be one are replaced as well: all that are not plainly
    something else. That is how arguments are stored.
    """
    hidden: list[str] = []
    flag = ""
    for arg in args:
        if flag:
            hidden.append(_hide_flag_value(flag, arg, values, unknown=unknown))
            flag = ""
            continue
        hidden.append(_hide_arg(arg, values, unknown=unknown))
        if arg in _HEADER_FLAGS | _SHORT_FLAGS or (arg.startswith("-") and is_secret_name(arg)):
            flag = arg
    return hidden


def hide_in_url(url: str, values: list[str]) -> str:
    """A URL with user info, secret query values and tokens in its path replaced by references."""
    if _REFERENCE.search(url):
        return _keep(url, values)
    return _beside_references(_hide_in_one_url(url, values), lambda t: _hide_shapes(t, values))


def credentials_in(text: str) -> list[str]:
    """The credentials inside a value: a URL's password, a named value, a token."""
    values: list[str] = []
    _hide_in_text(text, values, unknown=False)
    return values


def forms_of(value: str) -> set[str]:
    """A secret value and what a server may repeat of it alone: a password in it, one line."""
    scheme, _, token = value.strip().partition(" ")
    forms = {value, token, *credentials_in(value)}
    if scheme.lower() == "basic":
        with suppress(ValueError):
            forms.add(base64.b64decode(token).decode().partition(":")[2])
    if "\n" in value:
        forms.update(line.strip() for line in value.splitlines() if len(line) > _LONG_LINE)
    return {form for form in forms if _is_worth_hiding(form)}


def lacks(text: str, values: Sequence[str]) -> bool:
    """True if a reference in the text has no value."""
    return any(int(match[1]) >= len(values) for match in _REFERENCE.finditer(text))


def reveal(text: str, values: Sequence[str]) -> str:
    """The text with its references filled in; see `lacks` for one without a value."""

    def value(match: re.Match[str]) -> str:
        index = int(match[1])
        return values[index] if index < len(values) else ""

    return _REFERENCE.sub(value, text)


def has_references(texts: Iterable[str]) -> bool:
    """True if any of the texts refers to values that are kept elsewhere."""
    return any(_REFERENCE.search(text) for text in texts)


def mask(text: str) -> str:
    """The text with its references shown as dots."""
    return _REFERENCE.sub(MASK, text)


def _hide_flag_value(flag: str, arg: str, values: list[str], *, unknown: bool) -> str:
    if flag in _HEADER_FLAGS:
        return _hide_header(arg, values)
    switch = arg.startswith("--") or is_interpolation(arg)  # the flag before it was a switch
    if switch or (flag in _SHORT_FLAGS and _is_no_password(arg, unknown=unknown)):
        return _hide_arg(arg, values, unknown=unknown)
    return _keep(arg, values)


def _is_no_password(arg: str, *, unknown: bool) -> bool:
    """True if the word after -p is a port, a path or a package; a lone word may be either."""
    named = any(character in arg for character in "/@\\.") or not any(map(str.isalpha, arg))
    return arg.startswith("-") or (is_plain(arg) and (named or not unknown))


def _hide_arg(arg: str, values: list[str], *, unknown: bool) -> str:
    if _REFERENCE.search(arg):  # text that looks like a reference must not be filled in later
        return _keep(arg, values)
    if match := _FLAG_VALUE.match(arg):
        head, value = f"{match['flag']}{match['sep']}", match["value"]
        if match["flag"] in _HEADER_FLAGS:
            return f"{head}{_hide_header(value, values)}"
        if is_secret_name(match["flag"]) and not is_interpolation(value):
            return f"{head}{_keep(value, values)}"
        return head + _hide_assignment(value, values, unknown=unknown)
    return _hide_assignment(arg, values, unknown=unknown)


def _hide_assignment(text: str, values: list[str], *, unknown: bool) -> str:
    """NAME=VALUE as a variable is given, else any text.

    The value ends with the argument, so that no half of a password stays; app.secrets.shown_words
    decides how a script is shown to the person who agrees to it.
    """
    match = _ASSIGNMENT.match(text)
    if match is None or not is_secret_name(match["name"]):
        return _hide_in_text(text, values, unknown=unknown)
    if is_interpolation(match["value"]):
        return text
    return f"{match['name']}={_keep(match['value'], values)}"


def _hide_header(text: str, values: list[str]) -> str:
    match = _HEADER.match(text)
    if match is None:
        return text if is_interpolation(text) else _keep(text, values)
    if is_interpolation(match["value"]):
        return text
    return f"{match['name']}{match['sep']}{_keep(match['value'], values)}"


def _hide_in_text(text: str, values: list[str], *, unknown: bool) -> str:
    """A text that may be a word, a script, JSON or a connection string, without credentials."""

    def json_pair(match: re.Match[str]) -> str:
        secret = is_secret_name(match["name"]) or (unknown and not is_setting(match["value"]))
        kept = is_interpolation(match["value"]) or not secret
        return match[0] if kept else match["head"] + _keep(match["value"], values)

    def json_number(match: re.Match[str]) -> str:
        secret = is_secret_name(match["name"])
        return match["head"] + _keep(match["value"], values) if secret else match[0]

    def named(match: re.Match[str]) -> str:
        secret = is_secret_name(match["flag"] or match["name"])
        if not secret or is_interpolation(match["value"]):
            return match[0]
        return f"{match['head']}{match['quote']}{_keep(match['value'], values)}"

    def token(match: re.Match[str]) -> str:
        odd = looks_random(match[0]) or (unknown and not is_plain(match[0]))
        return _keep(match[0], values) if odd else match[0]

    text = _URL.sub(lambda match: _hide_in_one_url(match[0], values), text)
    text = _beside_references(text, lambda part: _hide_shapes(part, values))
    text = _beside_references(text, lambda part: _JSON_PAIR.sub(json_pair, part))
    text = _beside_references(text, lambda part: _JSON_NUMBER.sub(json_number, part))
    text = _beside_references(text, lambda part: _NAMED.sub(named, part))
    return _beside_references(text, lambda part: _TOKEN.sub(token, part))


def is_setting(value: str) -> bool:
    """True if an environment value is plainly a word, a number, a path or an address."""
    return is_plain(value, mixtures=0)


def _is_worth_hiding(value: str) -> bool:
    """True if a value is long enough to hide, and no default that all know."""
    return len(value) >= SHORTEST and value.lower() not in _DEFAULTS


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
        if not value or is_interpolation(value):
            return match[0]
        secret = is_secret_name(match["name"]) or not is_plain(value)
        return f"{match['lead']}{match['name']}={_keep(value, values)}" if secret else match[0]

    def segment(match: re.Match[str]) -> str:
        plain = is_interpolation(match[0]) or is_plain(match[0])
        return match[0] if plain else _keep(match[0], values)

    url = _QUERY.sub(query, _USERINFO.sub(userinfo, url, count=1))

    def label(match: re.Match[str]) -> str:
        return _keep(match[0], values) if looks_random(match[0]) else match[0]

    head, slashes, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    place = _beside_references(place, lambda part: _LABEL.sub(label, part))
    path, mark, more = path.partition("?")
    hidden = _beside_references(slash + path, lambda part: _SEGMENT.sub(segment, part))
    return f"{head}{slashes}{place}{hidden}{mark}{more}"


def _beside_references(text: str, change: Callable[[str], str]) -> str:
    """The text changed everywhere but in the references that it has already."""
    parts = _BESIDE_REFERENCES.split(text)
    return "".join(part if place % 2 else change(part) for place, part in enumerate(parts))


def _hide_shapes(text: str, values: list[str]) -> str:
    return _SHAPES.sub(lambda m: _keep(m[0], values), text)


def _keep(value: str, values: list[str]) -> str:
    values.append(value)
    return f"${{secret:{len(values) - 1}}}"
