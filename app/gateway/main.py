"""toolcrib-gateway: what a host starts instead of its servers; its forms: app.gateway.options."""

import _signal  # type: ignore[import-not-found]  # built in; `signal` loads enum
import os
import sys

from app.core.errors import ToolcribError
from app.core.home import home_folder
from app.gateway.options import HELP, HOOK, REACH, SERVE, parse
from store.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_INTERRUPTED = 130


def main(argv: "Sequence[str] | None" = None) -> None:
    """Serve one host on stdin and stdout: through the backend, or alone where there is none."""
    try:
        _run(sys.argv[1:] if argv is None else list(argv))
    except KeyboardInterrupt:  # before a way to serve hears it itself; threads may wait for stdin
        os._exit(_INTERRUPTED)


def _run(words: "list[str]") -> None:
    own = words[: words.index("--")] if "--" in words else words
    if "--help" in own or "-h" in own:
        _print(HELP)
        return
    if words == ["--version"]:
        from app.core.own_code import own_version

        _print(f"toolcrib-gateway {own_version()}\n")
        return
    if words == [SERVE]:
        if problem := _home_problem():
            raise SystemExit(f"toolcrib-gateway: {problem}")
        from app.gateway.backend.server import serve

        serve()
        return
    if words[:1] == [HOOK]:
        from app.gateway.hook import run

        run(words[1:])
        return
    if words[:1] == [REACH]:
        from app.gateway.reach import run as reach

        reach(words[1:])
        return
    parse(words)
    problem = _home_problem()
    if problem:  # each answer names it to the host, this line to the user
        sys.stderr.write(f"toolcrib-gateway: {problem}\n")
    if problem or not _may_attach():
        from app.gateway.lines import lines_of
        from app.gateway.standalone import serve_alone

        serve_alone(words, lines_of(lambda size: os.read(0, size)))
    else:
        _attach(words)


def _print(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # its reader has gone
        os._exit(0)


def _home_problem() -> str:
    """Reason that there is no folder to serve from, "" where there is one."""
    try:
        home_folder()
    except ToolcribError as error:
        return error.title
    return ""


def _may_attach() -> bool:
    from app.gateway.backend.rendezvous import STANDALONE_VARIABLE, supported

    return not os.environ.get(STANDALONE_VARIABLE) and supported()


def _attach(words: "Sequence[str]") -> None:
    """Serve through the backend; alone where it cannot be had, or until it can."""
    from app.gateway.backend.adapter import Adapter
    from app.gateway.backend.attach import attach
    from app.gateway.backend.rendezvous import MOVED_VARIABLE, Place

    place = Place(home_folder())
    if moved := os.environ.pop(MOVED_VARIABLE, ""):
        from app.gateway.backend.move import arrived

        link, state = arrived(moved)
    else:
        link, state = attach(place, words), []
    if link is None:
        from app.gateway.backend.move import Move
        from app.gateway.standalone import serve_alone

        move = Move(place, words)
        serve_alone(words, move.lines(), movable=move.allow)
        return

    def standalone(lines: "Iterator[bytes]", answered: int) -> None:
        from app.gateway.standalone import serve_alone

        serve_alone(words, lines, answered=answered)

    # Python may forget an interrupt where threads switch (app.system.ending); the system does not
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    Adapter(place, words, link, state).run(standalone)


if __name__ == "__main__":
    main()
