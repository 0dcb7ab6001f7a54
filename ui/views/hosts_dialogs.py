"""The two questions that the Hosts page may ask; the safe answer is the default."""

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from app.policy.budget import Verdict
from ui.text import plural
from ui.views.question import ask


def write_over_budget(parent: QWidget, verdict: Verdict) -> bool:
    """Whether to write although the profile's policy says ask."""
    return ask(
        parent,
        f"Over budget by {verdict.to_free:,} tokens ≈.",
        "The profile asks before such a config is written.",
        yes="Write anyway",
    )


def restore_hosts(parent: QWidget, names: Sequence[str]) -> bool:
    """Whether to put the files of these hosts back: the way out, also before uninstalling."""
    return ask(
        parent,
        f"Put the files of {plural(len(names), 'host')} back?",
        f"{', '.join(names)}: as they were before Toolcrib. The present files are kept as copies.",
        yes="Restore",
    )
