"""Embedding of a tool: its texts, each encoded for itself, in one weighted vector.

Fields encoded and weighted apart: SEP-1576. numpy is loaded when something is mixed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.core.settings import Settings
from app.ranking.keyword import keyword_row
from app.ranking.summary import embedded_text
from store.hashes import text_hash
from store.records import Summary, ToolRecord

if TYPE_CHECKING:
    import numpy as np

MOST_DESCRIPTION = 400  # characters
MOST_PARAMETERS = 24  # words

WEIGHTS = Settings().views  # of name, description, parameters, server beside a summary's 1


@dataclass(frozen=True, slots=True)
class View:
    """One text of a tool and what it weighs in the tool's vector."""

    text: str
    weight: float = 1.0


def views_of(
    tool: ToolRecord, summary: Summary, weights: Sequence[float] = WEIGHTS
) -> tuple[View, ...]:
    """A tool's texts, the summary first; one that a person wrote replaces the description."""
    _id, name, _description, parameters, server, _requests = keyword_row(tool)
    made = summary.source == "made"
    description = " ".join(tool.description.split())[:MOST_DESCRIPTION] if made else ""
    texts = (name, description, " ".join(parameters.split()[:MOST_PARAMETERS]), server)
    others = (View(text, weight) for text, weight in zip(texts, weights, strict=True))
    first = View(embedded_text(tool, summary.text))
    return (first, *(view for view in others if view.text and view.weight > 0))


def views_hash(views: Sequence[View]) -> str:
    """The hash under which the vector of these texts and weights is kept."""
    return text_hash("\0".join(f"{view.weight:g} {view.text}" for view in views))


def mixed(
    encode: Callable[[Sequence[str]], "np.ndarray[Any, Any]"], tools: Sequence[Sequence[View]]
) -> list[bytes]:
    """A unit vector per tool as float32 bytes; a text that several tools share is encoded once."""
    import numpy as np

    texts = list(dict.fromkeys(view.text for views in tools for view in views))
    rows = dict(zip(texts, encode(texts), strict=True)) if texts else {}
    made = []
    for views in tools:
        total = sum(view.weight * rows[view.text] for view in views)
        made.append((total / np.linalg.norm(total)).astype("<f4").tobytes())
    return made
