"""Downloads of a command before it runs: packages of npx, uvx, pipx and images of docker."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile, zip_longest

from app.hosts.entries import program_name


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NPM_VALUES = _words("-c --call --prefix --registry --cache --userconfig -w")
_UV_VALUES = _words(
    """--python -p --index --index-url -i --default-index --extra-index-url --find-links -f
    --directory --project --cache-dir --env-file --constraints -c --refresh-package
    --upgrade-package -P --overrides --exclude-newer --color --config-file --resolution
    --prerelease --link-mode
    --keyring-provider --index-strategy --allow-insecure-host --no-binary-package
    --no-build-package --config-setting -C --python-platform"""
)
_UV_MORE = _words("--with --with-editable --with-requirements")
_PIPX_VALUES = _words("--python --index-url -i --pip-args --fetch-missing-python")
_DOCKER_FLAGS = _words(
    """-i -t -d -it -ti -dit -itd --rm --init --privileged --interactive --tty --detach --read-only
    --no-healthcheck -P --publish-all --oom-kill-disable --sig-proxy -q --quiet --help
    --disable-content-trust --use-api-socket"""
)
_ADDRESS = "its address"
_NPM_PACKAGES = _words("-p --package")
_PYTHON_PACKAGES = _words("--from --spec")


@dataclass(frozen=True, slots=True)
class _Fetcher:
    """A program that downloads what it runs, and how its command line names that."""

    source: str
    verbs: tuple[tuple[str, ...], ...]  # words that must follow the program; () where none must
    packages: frozenset[str]  # flags whose value is what is downloaded
    takes_value: Callable[[str], bool]
    more: frozenset[str] = frozenset()  # flags whose value is downloaded besides
    first: bool = True  # whether the first word that is no flag is downloaded


def _npm(*verbs: tuple[str, ...]) -> _Fetcher:
    return _Fetcher("npm", verbs, _NPM_PACKAGES, _NPM_VALUES.__contains__)


def _uv(*verbs: tuple[str, ...], first: bool = True) -> _Fetcher:
    packages = _PYTHON_PACKAGES if first else frozenset[str]()
    return _Fetcher("PyPI", verbs, packages, _UV_VALUES.__contains__, _UV_MORE, first)


def _fetchers(program: str) -> tuple[_Fetcher, ...]:
    """The ways in which a program of this name downloads."""
    if program in ("npx", "bunx", "pnpx"):
        return (_npm(()),)
    if program in ("npm", "pnpm", "yarn", "bun"):
        return (_npm(("exec",), ("x",), ("dlx",)),)
    if program == "uvx":
        return (_uv(()),)
    if program == "uv":
        return (_uv(("tool", "run")), _uv(("run",), first=False))
    if program == "pipx":
        return (_Fetcher("PyPI", (("run",),), _PYTHON_PACKAGES, _PIPX_VALUES.__contains__),)
    if program in ("docker", "podman", "nerdctl"):
        verbs = (("run",), ("container", "run"))
        return (_Fetcher("its registry", verbs, frozenset(), lambda f: f not in _DOCKER_FLAGS),)
    if program in ("deno", "go"):
        return (_Fetcher(_ADDRESS, (("run",),), frozenset(), lambda _flag: False),)
    return ()


def fetched(words: Sequence[str]) -> tuple[str, ...]:
    """Downloads of the command line, each as `NAME from npm`; empty for none.

    Programs behind others count as well: `cmd /c npx NAME`, `env A=b uvx NAME`.
    """
    for number, word in enumerate(words):
        rest = words[number + 1 :]
        for fetcher in _fetchers(_bare(word)):
            for verb in fetcher.verbs:
                if tuple(islice(_plain(fetcher, rest), len(verb))) == verb:
                    return tuple(_named(fetcher, _after(rest, verb)))
    return ()


def _bare(word: str) -> str:
    return program_name(word).lower().removesuffix(".cmd").removesuffix(".bat")


def _after(words: Sequence[str], verb: tuple[str, ...]) -> Sequence[str]:
    for part in verb:
        words = words[list(words).index(part) + 1 :]
    return words


def _named(fetcher: _Fetcher, words: Sequence[str]) -> Iterator[str]:
    """The packages: those of flags, else the first word that is no flag."""
    by_flag = list(_flag_values(words, fetcher.packages))
    first = [] if by_flag or not fetcher.first else list(islice(_plain(fetcher, words), 1))
    for name in (*by_flag, *first, *_flag_values(words, fetcher.more)):
        if _is_remote(name):
            yield f"{name} from {_ADDRESS}"
        elif fetcher.source != _ADDRESS:
            yield f"{name} from {fetcher.source}"


def _is_remote(name: str) -> bool:
    if "://" in name or name.startswith(("git+", "npm:", "jsr:", "github:")):
        return True
    return bool(re.match(r"[\w-]+(\.[\w-]+)+/.+@", name))  # a module of Go with its version


def _flag_values(words: Sequence[str], flags: frozenset[str]) -> Iterator[str]:
    before = list(takewhile(lambda word: word != "--", words))
    pairs = zip_longest(before, before[1:], fillvalue="")  # a bare `uvx` has no words at all
    for word, following in pairs:
        flag, equals, value = word.partition("=")
        if flag in flags and (value or following):
            yield value if equals else following


def _plain(fetcher: _Fetcher, words: Sequence[str]) -> Iterator[str]:
    """The words that are no flags and no values of flags."""
    skip = False
    for word in words:
        if skip:
            skip = False
        elif not word.startswith("-"):
            yield word
        elif "=" not in word:
            flags = fetcher.packages | fetcher.more
            skip = word in flags or (word != "--" and fetcher.takes_value(word))
