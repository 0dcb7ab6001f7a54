"""toolcrib-gateway hook HOST [--profile NAME] [--home FOLDER] [--form list]: run before a prompt.

It hands the prompt to the backend and prints what the backend adds to it, in the host's form. It
prints nothing and ends with 0 where there is nothing to add, no backend, or no answer in time. It
stores nothing. Builtins and `os` only, no `json`, `re` or `signal`: it runs at each prompt.
"""

import _thread
import os
import sys

from app.gateway.plain_json import read, written
from store.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.gateway.backend.rendezvous import Place
    from store.typed import Json

_SECONDS = 0.1  # that the backend has for its answer
_SECONDS_VARIABLE = "TOOLCRIB_HOOK_SECONDS"  # another limit, for slow machines
_LONGEST_SECONDS = 60.0  # whatever that limit says
_MOST_SECONDS = 1.0  # beyond that limit, after which the process ends whatever it waits for
_MOST_BYTES = 4 << 20  # of what the host says
_MOST_CHARACTERS = 32_001  # of the prompt: one more than is ever looked at
# hosts whose answer names the event; for others the text is alone
_EVENTS = {
    "claude-code": "UserPromptSubmit",
    "codex": "UserPromptSubmit",
    "qwen-code": "UserPromptSubmit",
    "gemini-cli": "BeforeAgent",
}
_PLAIN = ("copilot-cli", "opencode")
HOSTS = (*_EVENTS, *_PLAIN)
LIST = "list"  # the answer names the tools that the host leaves out of its list
_LISTS = ("opencode",)  # hosts whose hook can
USAGE = (
    "usage: toolcrib-gateway hook HOST [--profile NAME] [--home FOLDER] [--form list]\n"
    f"hosts: {', '.join(HOSTS)}\n"
)


def run(words: "Sequence[str]") -> None:
    """Answer one prompt; never raises, and never takes longer than its limits."""
    host, profile, home, form = _options(words)
    limit = _limit()
    _end_after(limit + _MOST_SECONDS)
    try:
        sys.stdout.write(_answer(host, profile, home, form, limit))
        sys.stdout.flush()
    finally:
        os._exit(0)  # whatever happened here, the prompt goes on


def _options(words: "Sequence[str]") -> tuple[str, str, str, str]:
    """Host, profile, folder, form; raises SystemExit with what is wrong."""
    values = {"--profile": "default", "--home": "", "--form": ""}
    rest = list(words)
    host = rest.pop(0) if rest else ""
    while rest:
        name = rest.pop(0)
        if name not in values or not rest:
            raise SystemExit(USAGE)
        values[name] = rest.pop(0)
    if host not in HOSTS or values["--form"] not in (("", LIST) if host in _LISTS else ("",)):
        raise SystemExit(USAGE)
    return host, values["--profile"], values["--home"], values["--form"]


def _limit() -> float:
    try:
        wanted = float(os.environ.get(_SECONDS_VARIABLE, _SECONDS))
        return min(max(0.01, wanted), _LONGEST_SECONDS)
    except ValueError:
        return _SECONDS


def _end_after(seconds: float) -> None:
    """End the process by then, with 0: a host that never closes its end must not wait."""
    import time

    def end() -> None:
        time.sleep(seconds)
        os._exit(0)

    _thread.start_new_thread(end, ())


def _answer(host: str, profile: str, home: str, form: str, limit: float) -> str:
    fields = read(sys.stdin.buffer.read(_MOST_BYTES))
    prompt = prompt_of(host, fields)
    if not prompt.strip() or prompt.lstrip()[0] in "/!":
        return ""
    if home:
        os.environ["TOOLCRIB_HOME"] = home
    body = {
        "host": host,
        "profile": profile,
        "prompt": prompt[:_MOST_CHARACTERS].replace("\0", " "),
        "seconds": limit,
        "conversation": str(fields.get("session_id") or fields.get("sessionId") or ""),
        "form": form,
    }
    made = _from_backend(written(body), limit)
    if form == LIST:
        return written({"off": made["off"]}) if made.get("off") else ""
    return printed(host, str(made.get("text") or ""))


def _from_backend(body: str, limit: float) -> "Json":
    """The backend's answer, {} where there is none in time; one that lacks is started for later."""
    from app.core.home import home_folder
    from app.gateway.backend.rendezvous import Place, supported

    if not supported():
        return {}
    from app.gateway.backend.client import exchange

    place = Place(home_folder())
    made = exchange(place, "suggest", body, seconds=limit)
    if made is not None:
        value: Json = read(made)
        return value
    _start(place)
    return {}


def _start(place: "Place") -> None:
    """Start a backend for the next prompt where the user wants one and none listens."""
    from app.gateway.backend.attach import spawn
    from app.gateway.backend.rendezvous import connect, ensure_folder

    wanted = not place.off and os.path.isdir(place.home)
    if wanted and ensure_folder(place.folder) and connect(place) is None:
        spawn(place)


def prompt_of(host: str, fields: "Json") -> str:
    """The user's own words; "" where the host runs the hook for something else."""
    value = fields.get("prompt")
    if host == "qwen-code":  # it runs the hook on tools' results as well, with nothing submitted
        value = fields.get("submitted_prompt", value)
    return value if isinstance(value, str) else ""


def printed(host: str, text: str) -> str:
    """Output for the host; "" where nothing is added."""
    return written(_output(host, text)) if text else ""


def _output(host: str, text: str) -> "Json":
    """The text in the form in which the host takes it into the request."""
    event = _EVENTS.get(host)
    if event is None:
        return {"additionalContext": text}
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
