"""Preview of a change to a host's hook or rules; nothing is written unseen."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.export.masking import DiffFile, masked_diff
from app.export.plan import Plan
from app.hooks.entries import LIST
from app.hooks.plugin import plugin_form
from app.hooks.rules import is_rules
from ui.look.theme import Theme
from ui.pages.hosts.change_sheet import ChangeSheet

HOOKS, LISTED, WORDS = "hook", "list", "rules"
_TITLES = {  # by what it is about: written, taken out; on the button
    HOOKS: ("Suggest tools for each prompt", "No more suggestions", "hook", "the hook"),
    LISTED: ("Remove tools that do not fit", "No more suggestions", "hook", "the hook"),
    WORDS: ("Rules snippet", "No rules snippet", "words", "the words"),
}
_OUT_WORDS = "The instructions for Toolcrib's menu are removed. The rest of the file stays."
_OUT = "The host no longer asks Toolcrib. The rest of the file stays."


def about_of(plan: Plan) -> str:
    """Subject of a plan about prompts: a hook, one that narrows the list, or the rules snippet."""
    if any(is_rules(file.path) for file in plan.files):
        return WORDS
    return LISTED if any(plugin_form(file.after) == LIST for file in plan.files) else HOOKS


@dataclass(frozen=True, slots=True)
class HookPreview:
    """A hook's plan, with its files as they may be shown."""

    plan: Plan
    wanted: bool  # written, or taken out
    files: tuple[DiffFile, ...]
    about: str = HOOKS

    @classmethod
    def of(cls, plan: Plan, *, wanted: bool, about: str = HOOKS) -> "HookPreview":
        """Masked like every host file."""
        return cls(plan, wanted, masked_diff(plan), about)

    @property
    def sentences(self) -> Sequence[str]:
        """Facts to know before writing."""
        out = _OUT_WORDS if self.about == WORDS else _OUT
        return self.plan.warnings if self.wanted else (out,)


class HookSheet(ChangeSheet):
    """The hook's difference."""

    def __init__(self, theme: Theme, home: Path) -> None:
        super().__init__(theme, home, "hook")
        self.preview: HookPreview | None = None

    def show_preview(self, preview: HookPreview) -> None:
        """Show what would be written."""
        self.preview = preview
        written, gone, short, long = _TITLES[preview.about]
        what = written if preview.wanted else gone
        self.title.setText(f"{what}: {preview.plan.host.name}")
        self.show_files(preview.plan, preview.files, preview.sentences)
        self.write.setText(f"Write {short}" if preview.wanted else f"Take {long} out")
