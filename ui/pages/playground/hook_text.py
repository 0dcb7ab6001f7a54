"""Effect of a host's hook on a query typed as a prompt: the text it adds or leaves out, and why."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app.core.text import plural
from app.export.limits import host_name
from app.gateway.rehearsal import Narrowed, rehearse_hook, rehearse_list
from app.hooks.small_talk import SmallTalk
from app.hooks.status import no_hook
from app.hooks.suggestion import MARGIN, Suggestion
from app.host_status.sizes import HostSize
from app.tokens.counters import Counter
from store.records import THROUGH
from ui.look.text import APPROX

if TYPE_CHECKING:
    from app.encoder.onnx import Encoder


@dataclass(frozen=True, slots=True)
class HookText:
    """The hook's text for the model, or its reason for changing nothing."""

    text: str  # what it adds; of the list form the names that stay; "" where it stays silent
    tokens: int  # that are added
    why: str


@dataclass(frozen=True, slots=True)
class Typed:
    """A prompt, and what decides about it."""

    database: Path
    profile: str
    prompt: str
    encoder: "Encoder | None"
    talk: Callable[[], SmallTalk | None]  # encoded with the first hook that is looked at


def hook_text(typed: Typed, size: HostSize | None, count: Counter) -> HookText:
    """Text of this host's hook; without a host, of any that goes through Toolcrib."""
    hook = size.facts.hook if size else None
    if size is not None and hook is None:
        return HookText("", 0, no_hook(size.facts))
    if size is not None and hook is not None and hook.lists and size.mode != THROUGH:
        return _narrowed(typed, size)  # its other form has nothing to say there
    made = rehearse_hook(
        str(typed.database),
        typed.profile,
        host=size.facts.id if size else "",
        prompt=typed.prompt,
        encoder=typed.encoder,
        small_talk=typed.talk(),
    )
    if not made.text:
        return HookText("", 0, f"Silent. {made.why}{_measured(made)}")
    tokens = count.count(made.text)
    words = f"{tokens:,} tokens {APPROX} added to the request.{_measured(made)}"
    return HookText(made.text, tokens, words)


def _narrowed(typed: Typed, size: HostSize) -> HookText:
    narrowed = rehearse_list(
        str(typed.database),
        typed.profile,
        host=size.facts.id,
        prompt=typed.prompt,
        encoder=typed.encoder,
        small_talk=typed.talk(),
    )
    return narrowed_text(narrowed, size)


def narrowed_text(narrowed: Narrowed, size: HostSize) -> HookText:
    """Names of this host's tools that the list form leaves out, one a line."""
    off, rows = set(narrowed.off), size.sent.tools
    names = {host_name(size.facts, row): row for row in rows}
    gone = [row for name, row in names.items() if name in off]
    if not gone:
        why = narrowed.made.why or "Every tool fits or is pinned."
        return HookText(
            "", 0, f"The list form leaves the list whole. {why}{_measured(narrowed.made)}"
        )
    saved = sum(row.cost for row in gone)
    words = (
        f"The list form leaves {len(gone)} of {plural(len(names), 'tool')} out of this request,"
        f" {saved:,} tokens {APPROX}. These stay, with those that the conversation has used."
    )
    kept = [name for name in names if name not in off]
    return HookText("\n".join(kept), 0, f"{words}{_measured(narrowed.made)}")


def _measured(made: Suggestion) -> str:
    """The cosines that decided, where any did."""
    if not made.likeness:
        return ""
    floor = f"{made.floor:.2f}, and " if made.floor >= 0 else ""  # a label's query has none
    return (
        f" Likeness of the best tool {made.likeness:.2f}; it needs {floor}"
        f"{made.small_talk + MARGIN:.2f} to be clear of small talk."
    )
