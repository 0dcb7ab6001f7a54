"""A ranking in its stable JSON form: the output of `toolcrib route --json`."""

from app.ranking import phrases
from app.ranking.ranked import Ranked, RankedTool, first_of_steps
from store.typed import Json


def ranked_json(ranked: Ranked) -> Json:
    """The stable JSON form of a ranking."""
    return {
        "query": ranked.query,
        "tools": [_tool_json(tool, tool.id in ranked.labelled) for tool in ranked.tools],
        "tokens": ranked.tokens,
        "note": ranked.note,
        "best_off": phrases.best_off(ranked),
        "steps": [
            {"step": ranked.steps[step], "tool": tool.tool_id}
            for step, tool in first_of_steps(ranked.shown).items()
        ],
        "words_only": ranked.words_only,
    }


def _tool_json(tool: RankedTool, is_labelled: bool) -> Json:
    return {
        "server": tool.server,
        "name": tool.name,
        "score": round(tool.score, 6),
        "iso": None if tool.iso is None else round(tool.iso, 6),
        "in": tool.shown,
        "why": phrases.why(tool.verdict),
        "tier": phrases.tier(tool.verdict, is_labelled=is_labelled),
        "tokens": tool.tokens,
        "gate": tool.gate,
        "parts": dict(tool.parts),
        "matched": list(tool.matched),
        "remedy": phrases.remedy(tool.verdict),
    }
