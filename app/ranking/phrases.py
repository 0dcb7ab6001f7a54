"""The words for verdicts, for window and command line; nothing reads them back."""

from app.ranking.gates import (
    BUDGET,
    ON,
    PIN,
    PRECONDITION,
    SCORE,
    TOP_K,
    TRUSTED,
    Remedy,
    Verdict,
)
from app.ranking.ranked import Ranked, RankedTool, first_of_steps

LONGEST_STEP = 60  # characters of a step's words
TITLES = {
    ON: "Turned on",
    TRUSTED: "Trusted",
    PRECONDITION: "Precondition",
    SCORE: "Score",
    TOP_K: "Top-k",
    BUDGET: "Token budget",
}
PASSED = {ON: "in this profile", TRUSTED: "text as trusted", PRECONDITION: "none, or met"}
_BEFORE = {TRUSTED: "Held back: ", PRECONDITION: "Precondition: "}
_SETTINGS = {
    "delta": "the cut were {:.2f} below the best",
    "theta": "the threshold were {:.2f}",
    "floor": "the floor were {:.2f}",
    "k": "top-k were {}",
    "token_budget": "the budget were {} tokens",
    PIN: "you pinned it",
}


def title(gate: str) -> str:
    """Name of a gate as a heading; a gate without words of its own has its name."""
    return TITLES.get(gate) or gate[:1].upper() + gate[1:]


def steps(ranked: Ranked) -> str:
    """The best tool of each step of a request with several, as sentences; "" without steps."""
    first = first_of_steps(ranked.shown)
    return " ".join(
        f"For “{_shortened(ranked.steps[step])}”: {tool.tool_id}." for step, tool in first.items()
    )


def best_off(ranked: Ranked) -> str:
    """That the best match is switched off, as sentences; "" where it is not."""
    tool = ranked.best_off
    if tool is None:
        return ""
    why = tool.verdict.reasons[0].sentence
    return f"The best match is off: {tool.tool_id} ({why}). It can be switched on in Toolcrib."


def _shortened(step: str) -> str:
    return step if len(step) <= LONGEST_STEP else f"{step[:LONGEST_STEP].rsplit(' ', 1)[0]} ..."


def why(verdict: Verdict) -> str:
    """The reason of a verdict as a sentence without its full stop."""
    if not verdict.gate:
        return "Pinned: always in" if verdict.pinned else "Above threshold"
    before, text = _BEFORE.get(verdict.gate, ""), value(verdict)
    return before + text if before else text[:1].upper() + text[1:]


def why_beside(verdict: Verdict) -> str:
    """As `why`, beside the word Held, which is not said again."""
    text = why(verdict).removeprefix(_BEFORE[TRUSTED])
    return text[:1].upper() + text[1:]


def tier(verdict: Verdict, *, is_labelled: bool = False) -> str:
    """The tier that a tool comes from, after Semantic Tool Discovery; "" if out.

    The system tier is the menu's own tools, which no query ranks, and the marketplace's are not
    installed: neither is ever in a ranking.
    """
    return "" if verdict.gate else "expert" if verdict.pinned or is_labelled else "dense"


def found_in(verdict: Verdict, *, is_labelled: bool = False) -> str:
    """The way in which a tool was found, and its tier: a sentence; "" if out."""
    name = tier(verdict, is_labelled=is_labelled)
    if name == "dense":
        how = "Found by comparing its text with the query"
        return f"{how} ({name} tier). What you pin comes before it."
    how = "Pinned by you" if verdict.pinned else "Labelled by you for this query"
    return name and f"{how} ({name} tier), so it comes before what is only found."


def found_by(tool: RankedTool) -> str:
    """Reason that the host's own search gives a tool or not, a sentence without its full stop."""
    if tool.gate == SCORE:
        return "No word of the query is in its name or description"
    if not tool.keyword:
        return "Asked for by its name"
    points = f"{tool.keyword:.0f} points by {', '.join(tool.matched)}"
    return points if tool.shown else f"{points}: too few for an answer"


def value(verdict: Verdict) -> str:
    """Value at the gate that fails, without the gate's name."""
    if verdict.reasons:
        return verdict.reasons[0].sentence
    have, needed = verdict.have, verdict.needed
    if verdict.gate == SCORE:
        return below(have, needed)
    if verdict.gate == TOP_K:
        return f"rank {have:.0f}, top-k is {needed:.0f}"
    if verdict.gate == BUDGET:
        return f"no room: {short(int(have))} of {short(int(needed))} used"
    return f"{have:g} of {needed:g}"


def remedy(verdict: Verdict) -> str:
    """Change that would let the tool in, as a sentence without its full stop; "" when it is in."""
    if verdict.remedy is None:
        return ""
    parts = [reason.remedy for reason in verdict.reasons]
    parts += [
        _changed(verdict.remedy, name) for name in verdict.remedy.changes if name in _SETTINGS
    ]
    return f"It would be in if {' and '.join(parts)}"


def _changed(remedy: Remedy, name: str) -> str:
    amount = short(int(remedy.value)) if name == "token_budget" else remedy.value
    return _SETTINGS[name].format(amount)


def below(have: float, needed: float) -> str:
    """That a score is under a limit, with as many digits as tell them apart."""
    for digits in (2, 4):
        texts = f"{have:.{digits}f}", f"{needed:.{digits}f}"
        if texts[0] != texts[1]:
            return "{} is under {}".format(*texts)
    # 0 where any score at all would do, or very near
    return f"just under {texts[1]}" if float(texts[0]) else "nothing of the query is in it"


def short(tokens: int) -> str:
    """A token count as the window writes it: 950, 19.8k, 120k."""
    if tokens < 1000:
        return str(tokens)
    if tokens < 100_000:
        return f"{tokens / 1000:.1f}".removesuffix(".0") + "k"
    return f"{round(tokens / 1000)}k"
