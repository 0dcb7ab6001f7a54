"""Meaning of each word of a budget's verdict under given settings."""

from app.policy.budget import Budget

_ON_BLOCK = {
    "report": "nothing is stopped, the verdict is shown only",
    "ask": "Toolcrib asks before it writes such a config",
    "refuse": "Toolcrib writes no such config",
}


def meaning(budget: Budget) -> str:
    """PASS, WARN and BLOCK in one sentence each."""
    cap = f" or {budget.max_tools} tools" if budget.max_tools else ""
    below = f"PASS below {budget.warn_from:,} tokens. WARN from there on."
    if budget.warn_from > budget.block_over:
        below = f"PASS up to {budget.block_over:,} tokens."
    blocks = f"BLOCK above {budget.block_over:,} tokens{cap}"
    return f"{below} {blocks}: {_ON_BLOCK.get(budget.on_block, '')}."
