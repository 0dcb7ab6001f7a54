"""The two questions that the Hosts page may ask; the safe answer is the default."""

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from app.core.text import plural
from app.policy.budget import Verdict
from ui.widgets.question import confirm


def write_over_budget(parent: QWidget, verdict: Verdict) -> bool:
    """Ask if a config over the budget is to be written, where the profile's policy says ask."""
    return confirm(
        parent,
        verdict.why_blocked,
        "The profile asks before such a config is written.",
        yes="Write anyway",
    )


def restore_hosts(parent: QWidget, names: Sequence[str], lost: Sequence[str]) -> bool:
    """Ask if the files of these hosts are to be put back: the way out, also before uninstalling.

    `lost` are sentences for the later changes that this would drop.
    """
    text = (
        f"{', '.join(names)}: back to the state before Toolcrib."
        " The present files are kept as copies."
    )
    return confirm(
        parent,
        f"Put the files of {plural(len(names), 'host')} back?",
        "\n\n".join([text, *(f"Dropped by this: {sentence}" for sentence in lost)]),
        yes="Restore",
    )
