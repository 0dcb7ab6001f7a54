"""From an entry to a launch: its packages and URLs as choices, their inputs as fields.

All arguments are kept, in the publisher's order; a named one becomes two words, `--port 8080`.
"""

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.core.errors import ToolcribError
from app.core.paths import gateway_program
from app.core.text import plural, visible
from app.hosts.display import changes_what_runs, launch_text
from app.hosts.entries import REACH
from app.hosts.launch import HTTP, SSE, STDIO, LaunchSpec
from app.market import guards
from app.market.bundle import Bundle
from app.market.entry import NAMED, Argument, Entry, Input, Package, Remote
from app.market.entry import SSE as SSE_REMOTE
from app.market.entry import STDIO as BY_PIPES

ENV, HEADER, ARGUMENT, VARIABLE = "environment", "header", "argument", "variable"
CONFIG = "configuration"  # of a bundle, by its manifest
_RUNTIMES = {"npm": "npx", "pypi": "uvx", "oci": "docker", "nuget": "dnx", "mcpb": ""}
_CONFIGURED = re.compile(r"\$\{user_config\.([\w.-]{1,100})\}")
_PLACE = re.compile(r"\{([\w.-]{1,200})\}")
_STAND_IN = re.compile(r"<[\w.-]{1,200}>")
_LONGEST_NAME = 60  # with room for a number within the 64 that a server's name may have
_NONE: Mapping[str, str] = {}
_TRUE = ("true", "1", "yes", "on")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,199}")


@dataclass(frozen=True, slots=True)
class Field:
    """A value that a person gives; `key` is its name in a form and after --set."""

    key: str
    where: str  # ENV | HEADER | ARGUMENT | VARIABLE | CONFIG
    input: Input
    repeated: bool = False  # several values, a line each

    @property
    def wanted(self) -> bool:
        """True if nothing can be started before it has a value."""
        return self.input.required and not self.input.default

    @property
    def stand_in(self) -> str:
        """The text in the place of a missing value, where a launch is shown."""
        return next(iter(self.input.choices), f"<{self.key}>")


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to have the server, numbered from 1 as the entry lists them: packages, then URLs."""

    number: int
    kind: str  # npm | pypi | oci | nuget | mcpb | remote
    title: str
    package: Package | None = None
    remote: Remote | None = None
    problem: str = ""  # the reason why it cannot be used
    fields: tuple[Field, ...] = ()
    bundle: Bundle | None = None  # once it was fetched

    @property
    def runtime(self) -> str:
        """The program that fetches and starts it, "" for a URL or a bundle."""
        return _RUNTIMES.get(self.kind, "") if self.package else ""

    @property
    def secrets(self) -> int:
        """Number of required values that are secret."""
        return sum(field.input.secret and field.wanted for field in self.fields)


def choices(entry: Entry, *, private: bool = False) -> tuple[Choice, ...]:
    """Every way to have an entry's server; `private` where the user's own list names it."""
    ways = [_of_package(number, one, private) for number, one in enumerate(entry.packages, 1)]
    first = len(ways) + 1
    ways += [_of_remote(number, one, private) for number, one in enumerate(entry.remotes, first)]
    return tuple(ways)


def can_be_added(entry: Entry, *, private: bool = False) -> bool:
    """True if some way to have an entry's server can be used."""
    return any(not way.problem for way in choices(entry, private=private))


def best(ways: Sequence[Choice], runtimes: Iterable[str]) -> tuple[Choice | None, str]:
    """The choice to propose, and the reason; None where none can be used.

    `runtimes` are the programs that this machine has.
    """
    present = set(runtimes)
    usable = [way for way in ways if not way.problem]
    ready = [
        way for way in usable if way.package is None or way.runtime in present or not way.runtime
    ]
    local = [way for way in ready if way.package is not None]
    if local:
        chosen = min(local, key=lambda way: (way.secrets, list(_RUNTIMES).index(way.kind)))
        here = f", and {chosen.runtime} is here" if chosen.runtime else ""
        return chosen, f"It runs on this machine{here}."
    if ready:
        return ready[0], "It runs elsewhere: requests go to that address."
    if usable:
        return usable[0], f"{usable[0].runtime} is needed, and is not on this machine."
    return None, "None of its packages and addresses can be used."


def choose(
    entry: Entry, ways: Sequence[Choice], number: int | None, runtimes: Iterable[str]
) -> Choice:
    """The choice of that number, or the one to propose; ToolcribError where it cannot be used."""
    if number is None:
        chosen, reason = best(ways, runtimes)
        if chosen is None:
            why = next(
                (way.problem for way in ways),
                "The entry has no package and no address, so it cannot be installed.",
            )
            raise ToolcribError(f"{entry.name} cannot be added: {reason}", why)
        return chosen
    chosen = next((way for way in ways if way.number == number), None)
    if chosen is None:
        raise ToolcribError(
            f"{entry.name} has no package {number}.", f"It has {plural(len(ways), 'package')}."
        )
    if chosen.problem:
        raise ToolcribError(
            f"Package {number} of {entry.name} cannot be added: {chosen.problem}",
            "Choose another one, or add the server by hand.",
        )
    return chosen


def short_name(entry: Entry, known: Iterable[str] = ()) -> str:
    """The name that the server gets here: the last part of the entry's, with a number if taken."""
    taken = set(known)
    space, _, last = entry.name.partition("/")
    if "." not in space and entry.packages:  # the shipped list knows packages, not publishers
        last = entry.packages[0].identifier.rpartition("/")[2]
    base = last[:_LONGEST_NAME]
    names = (base if n == 1 else f"{base}-{n}" for n in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def launch_of(
    entry: Entry,
    choice: Choice,
    values: Mapping[str, str],
    *,
    private: bool = False,
    shown: bool = False,
) -> LaunchSpec:
    """The launch with a person's values in it; ToolcribError names what is missing or wrong.

    A bundle's command is in its manifest: the choice must be `with_bundle`. One that is only
    `shown` has names in the place of missing values.
    """
    _check_keys(entry, choice, values)
    given = _Values(entry, choice, values, shown)
    if choice.remote is not None:
        return _remote_launch(entry, choice.remote, given, private)
    package = choice.package
    if package is not None and choice.bundle is not None:
        return _bundle_launch(package, choice.bundle, given)
    if package is None or choice.kind == "mcpb":
        raise ToolcribError(
            f"{entry.name} is a bundle.", "Its command is known once it is fetched."
        )
    before = list(_words(package.before, given))
    after = list(_words(package.after, given, len(package.before)))
    env = {one.name: text for one in package.env if (text := given.of(ENV, one)) is not None}
    spec = f"{package.identifier}=={package.version}"
    problem = guards.words_problem(choice.runtime, before, spec) or guards.plain_words_problem(
        [*before, *after]
    )
    if problem:
        raise ToolcribError(f"{entry.name} cannot be added: {problem}", _BY_HAND)
    words = (*_head(package, before, env), *after)
    launch = LaunchSpec(STDIO, choice.runtime, words, env=env)
    if package.transport.transport == BY_PIPES:
        return launch
    kind = SSE if package.transport.transport == SSE_REMOTE else HTTP
    url = _own_url(entry, package, given)
    own = (REACH, kind, url, "--", launch.command, *launch.args)
    return replace(launch, command=str(gateway_program()), args=own)


def _own_url(entry: Entry, package: Package, given: "_Values") -> str:
    """The URL at which a started package answers, with its values; of this machine alone."""
    texts: dict[str, str] = {}
    for place, one in enumerate((*package.before, *package.after), 1):
        named = replace(one.input, name=_argument_name(one, place))
        text = given.of(ARGUMENT, named)
        if text is not None:
            texts = dict.fromkeys(_url_names(one, place), text) | texts
    for variable in package.env:
        texts.setdefault(variable.name, given.of(ENV, variable) or "")
    url = given.filled(package.transport.url, package.transport.variables, texts)
    problem = guards.own_url_problem(_STAND_IN.sub("1", url) if given.shown else url)
    if problem:
        raise ToolcribError(f"{entry.name} cannot be added: {problem}", _BY_HAND)
    return url


def with_bundle(choice: Choice, bundle: Bundle) -> Choice:
    """The choice with its bundle fetched, and the fields that the manifest asks for."""
    more = (Field(one.name, CONFIG, one, one.name in bundle.several) for one in bundle.inputs)
    own = (field for field in choice.fields if field.where != CONFIG)
    return replace(choice, bundle=bundle, fields=_unique((*own, *more)))


def shown_command(entry: Entry, choice: Choice, *, private: bool = False) -> str:
    """The command as consent shows it, with names in the place of missing values.

    ToolcribError where it cannot be used.
    """
    if choice.problem:
        raise ToolcribError(choice.problem)
    if choice.package is not None and choice.kind == "mcpb" and choice.bundle is None:
        shown = visible(choice.package.identifier[:200])
        sha = choice.package.sha256[:12]
        return f"downloads {shown} (checksum {sha}…) · starts what its manifest names"
    return launch_text(launch_of(entry, choice, {}, private=private, shown=True)).line


def runtimes() -> list[str]:
    """The programs of this machine that fetch and start packages."""
    return [name for name in _RUNTIMES.values() if name and shutil.which(name)]


_BY_HAND = "Nothing was added. Add the server by hand if you trust it."


def _head(package: Package, before: list[str], env: Mapping[str, str]) -> list[str]:
    """The runtime's words up to the package with its version."""
    name, version = package.identifier, package.version
    if package.kind == "npm":
        yes = [] if "-y" in before or "--yes" in before else ["-y"]
        return [*yes, *before, f"{name}@{version}"]
    if package.kind == "pypi":  # with --from the script's name follows among the package's words
        return [*before] if "--from" in before else [*before, f"{name}@{version}"]
    if package.kind == "nuget":
        yes = [] if "--yes" in before or "-y" in before else ["--yes"]
        return [f"{name}@{version}", *before, *yes]
    own = [word for word in ("-i", "--rm") if word not in before]
    named = [word for key in env for word in ("-e", key) if key not in before]
    tagged = name.partition("/")[2].partition("@")
    pinned = ":" in tagged[0] or tagged[2]
    return ["run", *own, *named, *before, name if pinned else f"{name}:{version}"]


def _remote_launch(entry: Entry, remote: Remote, given: "_Values", private: bool) -> LaunchSpec:
    url = given.filled(remote.url, remote.variables)
    problem = guards.url_problem(url, private=private)
    if problem or _PLACE.search(url):
        raise ToolcribError(
            f"{entry.name} cannot be added: {problem or 'a variable of its URL has no value.'}",
            _BY_HAND,
        )
    headers = {
        one.name: text for one in remote.headers if (text := given.of(HEADER, one)) is not None
    }
    if any(re.search(r"[\r\n\0]", text) for text in headers.values()):
        raise ToolcribError(f"A header of {entry.name} holds a line break.", _BY_HAND)
    return LaunchSpec(SSE if remote.transport == SSE_REMOTE else HTTP, url=url, headers=headers)


def _bundle_launch(package: Package, bundle: Bundle, given: "_Values") -> LaunchSpec:
    """The manifest's command, then the words that the entry adds."""
    args = [text for word in bundle.args for text in _configured(word, bundle, given)]
    args += _words(package.after, given, len(package.before))
    env = {name: "\n".join(_configured(text, bundle, given)) for name, text in bundle.env.items()}
    env = {name: text for name, text in env.items() if text}
    env |= {one.name: text for one in package.env if (text := given.of(ENV, one)) is not None}
    return LaunchSpec(STDIO, bundle.command, tuple(args), env=env, cwd=str(bundle.folder))


def _configured(word: str, bundle: Bundle, given: "_Values") -> Iterator[str]:
    """A word with a person's values; none where one is missing, several for a list of them."""
    whole = _CONFIGURED.fullmatch(word)
    if whole and whole[1] in bundle.several:
        yield from given.configured(whole[1]).split("\n") if given.configured(whole[1]) else ()
        return
    if any(not given.configured(key) for key in _CONFIGURED.findall(word)):
        return
    yield _CONFIGURED.sub(lambda match: given.configured(match[1]), word)


class _Values:
    """A person's values by field, with defaults; raises for those that are missing or wrong."""

    def __init__(
        self, entry: Entry, choice: Choice, values: Mapping[str, str], shown: bool
    ) -> None:
        self.shown = shown  # with names in the place of missing values, none of which is checked
        self._given: dict[tuple[str, str], str] = {}
        missing = []
        for field in choice.fields:
            text = values.get(field.key, "") or field.input.default
            if not text and field.wanted and shown:
                text = field.stand_in
            if text:
                if not shown:
                    _check(entry, field, text)
                self._given[field.where, field.input.name] = text
            elif field.wanted:
                missing.append(field.key)
        if missing:
            named = ", ".join(missing)
            raise ToolcribError(
                f"{entry.name} needs a value for {named}.",
                " ".join(f"--set {key}=VALUE" for key in missing),
            )

    def configured(self, key: str) -> str:
        """A value that a bundle's manifest asks for, "" for none."""
        return self._given.get((CONFIG, key), "")

    def of(self, where: str, given: Input) -> str | None:
        """An input's text: the publisher's own with its variables filled in, or the person's."""
        if given.value:
            unset = [one for one in _free(given) if (VARIABLE, one.name) not in self._given]
            return None if unset else self.filled(given.value, given.variables)
        return self._given.get((where, given.name))

    def filled(
        self, text: str, variables: Mapping[str, Input], known: Mapping[str, str] = _NONE
    ) -> str:
        """The text with each `{name}` replaced that is known, one of these variables, or of the
        environment; once: no value is read again."""

        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name in known:
                return known[name]
            one = variables.get(name)
            if one is None:
                return self._given.get((ENV, name), match[0])
            return one.value or self._given.get((VARIABLE, name), "")

        return _PLACE.sub(value, text)


def _check_keys(entry: Entry, choice: Choice, values: Mapping[str, str]) -> None:
    known = [field.key for field in choice.fields]
    unknown = [key for key in values if key not in known]
    if unknown:
        raise ToolcribError(
            f"{entry.name} has no input called {unknown[0]}.",
            f"It has: {', '.join(known)}." if known else "It needs no values.",
        )


def _check(entry: Entry, field: Field, text: str) -> None:
    """Refuse a value that is of another kind than the entry says."""
    for one in text.split("\n") if field.repeated else [text]:
        if field.input.choices and one not in field.input.choices:
            raise ToolcribError(
                f"{field.key} of {entry.name} cannot be “{visible(one[:60])}”.",
                f"It is one of: {visible(', '.join(field.input.choices))}.",
            )
        if field.input.format == "number" and not re.fullmatch(r"-?[0-9]+(?:\.[0-9]+)?", one):
            raise ToolcribError(f"{field.key} of {entry.name} must be a number.")
        if field.where in (HEADER, VARIABLE) and re.search(r"[\r\n\0]", one):
            raise ToolcribError(f"{field.key} of {entry.name} holds a line break.")


# ---- choices and their fields


def _of_package(number: int, package: Package, private: bool) -> Choice:
    problem = guards.package_problem(package, private=private) or _names_problem(ENV, package.env)
    problem = problem or _changes_problem(package.env)
    if not problem and package.transport.transport != BY_PIPES:
        problem = guards.started_problem(package)
    version = f" {package.version}" if package.version and package.kind != "mcpb" else ""
    title = f"{package.kind} package {package.identifier}{version}"
    if package.kind == "mcpb":
        title = f"bundle {package.identifier.rpartition('/')[2]}"
    return Choice(
        number, package.kind, title, package, None, problem, _unique(_package_fields(package))
    )


def _of_remote(number: int, remote: Remote, private: bool) -> Choice:
    problem = guards.remote_problem(remote, private=private)
    problem = problem or _names_problem(HEADER, remote.headers)
    variables = tuple(replace(one, name=name) for name, one in remote.variables.items())
    fields = (*_fields(VARIABLE, variables), *_fields(HEADER, remote.headers))
    title = f"address {_PLACE.sub('…', remote.url)}"
    return Choice(number, "remote", title, None, remote, problem, _unique(fields))


def _names_problem(where: str, inputs: Sequence[Input]) -> str:
    pattern = _HEADER_NAME if where == HEADER else _ENV_NAME
    wrong = next((one.name for one in inputs if not pattern.fullmatch(one.name)), None)
    return "" if wrong is None else f"“{visible(wrong[:60])}” is no name of {_a(where)}."


def _changes_problem(inputs: Sequence[Input]) -> str:
    """The publisher's own value of a variable that decides what runs; a person may set one."""
    one = next((i.name for i in inputs if (i.value or i.default) and changes_what_runs(i.name)), "")
    return f"It sets {one}, which can change what runs." if one else ""


def _a(where: str) -> str:
    return "a header" if where == HEADER else "an environment variable"


def _fields(where: str, inputs: Iterable[Input]) -> Iterator[Field]:
    for one in inputs:
        if not one.value:
            yield Field(one.name, where, one)
        yield from _fields(VARIABLE, _free(one))


def _free(one: Input) -> Iterator[Input]:
    """An input's variables that its value uses and that have no value themselves."""
    used = set(_PLACE.findall(one.value))
    for name, variable in one.variables.items():
        if name in used and not variable.value:
            yield replace(variable, name=name)


def _package_fields(package: Package) -> Iterator[Field]:
    """The fields of a package; what the URL of its server is made of is needed."""
    lacking = set(_PLACE.findall(package.transport.url))
    for one in package.env:
        needed = one.required or one.name in lacking
        yield from _fields(ENV, [replace(one, required=needed)])
        lacking.discard(one.name)
    for place, word in enumerate((*package.before, *package.after), 1):
        names = _url_names(word, place)
        needed = word.input.required or not lacking.isdisjoint(names)
        named = replace(word.input, name=_argument_name(word, place), required=needed)
        if not word.input.value and not word.plain:
            yield Field(named.name.lstrip("-"), ARGUMENT, named, word.repeated)
        yield from _fields(VARIABLE, _free(word.input))
        lacking.difference_update(() if word.plain else names)
    for name, variable in package.transport.variables.items():
        if name in lacking:
            yield from _fields(VARIABLE, [replace(variable, name=name, required=True)])


def _url_names(argument: Argument, place: int) -> tuple[str, ...]:
    """Names by which a URL has an argument's value."""
    return tuple(filter(None, (_argument_name(argument, place).lstrip("-"), argument.hint)))


def _argument_name(argument: Argument, place: int) -> str:
    return argument.flag or argument.hint or argument.input.name or f"argument{place or ''}"


def _unique(fields: Iterable[Field]) -> tuple[Field, ...]:
    """Fields with a key each; a second one of a name says where it belongs."""
    kept: dict[str, Field] = {}
    for field in fields:
        key = field.key if field.key not in kept else f"{field.where}.{field.key}"
        if key in kept and kept[key].input.name == field.input.name:
            continue  # the same variable, used twice
        kept[key] = replace(field, key=key)
    return tuple(kept.values())


def _words(arguments: Sequence[Argument], given: _Values, before: int = 0) -> Iterator[str]:
    """The words of arguments that follow this many others of the package."""
    for place, one in enumerate(arguments, before + 1):
        if one.plain:
            yield one.flag
            continue
        named = replace(one.input, name=_argument_name(one, place))
        text = given.of(ARGUMENT, named)
        if text is None:
            continue
        if one.kind == NAMED and one.input.format == "boolean" and not one.input.value:
            if text.lower() in _TRUE:
                yield one.flag
            continue
        for part in text.split("\n") if one.repeated else [text]:
            yield from (one.flag, part) if one.kind == NAMED else (part,)
