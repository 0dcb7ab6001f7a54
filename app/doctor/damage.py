"""Words about damage in the store, for callers that go on with the rest."""

import apsw

from app.core.errors import ToolcribError
from store.damage import shown_damage
from store.errors import REPAIR

_SHOWN = 3


def damage_problem(db: apsw.Connection) -> ToolcribError | None:
    """Damage to servers, tools and profiles with what to do, None where there is none."""
    damage = shown_damage(db)
    if not damage:
        return None
    words = [one.sentence for one in damage[:_SHOWN]]
    if len(damage) > _SHOWN:
        words.append(f"{len(damage) - _SHOWN:,} more are damaged.")
    return ToolcribError(" ".join(words), REPAIR)
