"""The tool budget: a cap on count and tokens, and the verdict on what a profile shows.

After the Tool Budget pattern (V13): both count and tokens are measured, and BLOCK means block.
"""

from dataclasses import dataclass, replace
from typing import Any

from app.catalog.catalog import Catalog
from app.core.settings import BudgetSettings

PASS, WARN, BLOCK = "PASS", "WARN", "BLOCK"


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of the tool definitions; percentages are of `limit` and of `max_tools`."""

    limit: int = 20_000  # tokens
    warn_percent: int = 80
    block_percent: int = 100
    max_tools: int = 0  # 0: no cap on their number
    window: int = 200_000  # the model's context window, tokens
    on_block: str = "report"  # refuse | ask | report
    strategy: str = "static"  # static | dynamic | split

    @classmethod
    def from_settings(cls, settings: BudgetSettings, *, host_limit: int = 0) -> "Budget":
        """A profile's budget; a host's own cap counts where the profile names none."""
        return cls(
            settings.tokens,
            settings.warn_percent,
            block_percent=settings.block_percent,
            max_tools=settings.max_tools or host_limit,
            window=settings.window,
            on_block=settings.on_block,
            strategy=settings.strategy,
        )

    def with_changes(self, **changes: Any) -> "Budget":
        """A copy with some values replaced."""
        return replace(self, **changes)

    @property
    def warn_from(self) -> int:
        """Tokens from which the verdict is WARN."""
        return self.limit * self.warn_percent // 100

    @property
    def block_over(self) -> int:
        """Tokens above which the verdict is BLOCK."""
        return self.limit * self.block_percent // 100


@dataclass(frozen=True, slots=True)
class Verdict:
    """PASS, WARN or BLOCK with a sentence for each reason."""

    word: str
    tokens: int
    tools: int
    budget: Budget
    reasons: tuple[str, ...] = ()

    @property
    def over(self) -> int:
        """Tokens above the budget, 0 when within."""
        return max(0, self.tokens - self.budget.limit)

    @property
    def to_free(self) -> int:
        """Tokens to free so that the verdict is no longer BLOCK for tokens."""
        return max(0, self.tokens - self.budget.block_over)

    @property
    def why_tools(self) -> str:
        """Reason that the number of tools makes the verdict, "" where tokens or nothing do."""
        word, reason = _of_tools(self.tools, self.budget)
        return reason if word == self.word else ""

    @property
    def why_blocked(self) -> str:
        """Reason that it is BLOCK, "" where it is not."""
        if self.word != BLOCK:
            return ""
        return self.reasons[0] if self.to_free else self.why_tools

    @property
    def refuses(self) -> bool:
        """True if a config must not be written."""
        return self.word == BLOCK and self.budget.on_block == "refuse"

    @property
    def asks(self) -> bool:
        """True if the user must be asked before a config is written."""
        return self.word == BLOCK and self.budget.on_block == "ask"


def verdict(tokens: int, tools: int, budget: Budget) -> Verdict:
    """Compare what a profile shows with its budget."""
    parts = [_of_tokens(tokens, budget), _of_tools(tools, budget)]
    reasons = [reason for word, reason in parts if word != PASS]
    words = {word for word, _reason in parts}
    word = next(w for w in (BLOCK, WARN, PASS) if w in words)
    return Verdict(word, tokens, tools=tools, budget=budget, reasons=tuple(reasons))


def verdict_on(catalog: Catalog) -> Verdict:
    """The verdict on everything that a host may get under the catalogue's profile."""
    shown = catalog.shown
    budget = Budget.from_settings(catalog.settings.budget)
    return verdict(sum(tool.cost for tool in shown), len(shown), budget)


def _of_tokens(tokens: int, budget: Budget) -> tuple[str, str]:
    if tokens > budget.block_over:
        return BLOCK, (
            f"{tokens:,} tokens are {tokens - budget.block_over:,} over the limit of"
            f" {budget.block_over:,}."
        )
    if tokens and tokens >= budget.warn_from:
        share = 100 * tokens / budget.limit if budget.limit else 100
        return WARN, f"{tokens:,} tokens are {share:.0f} % of the budget of {budget.limit:,}."
    return PASS, ""


def _of_tools(tools: int, budget: Budget) -> tuple[str, str]:
    cap = budget.max_tools
    if cap and tools > cap:
        return BLOCK, f"{tools:,} tools are {tools - cap:,} over the cap of {cap:,}."
    if cap and 100 * tools >= budget.warn_percent * cap:
        return WARN, f"{tools:,} tools are close to the cap of {cap:,}."
    return PASS, ""
