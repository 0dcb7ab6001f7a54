"""The Tool Attention paper's own figures, and where they do not add up."""

# Table 3: method, tokens a turn, rho at turn 30
TABLE_3 = (
    ("B1 full schemas", 47_312, 0.24),
    ("B2 static 30", 11_865, 0.56),
    ("B3 top 10 over schemas", 4_082, 0.78),
    ("B4 CLI", 480, 0.94),
    ("Tool Attention", 2_368, 0.91),
)
PHASE_1 = 4_820  # its Table 5, "Phase-1 only, k = 0"
PHASE_2 = 2_368  # its Table 3 and 5
# Table 2: tools and average tokens a schema
TABLE_2 = ((30, 520), (10, 180), (20, 410), (15, 290), (10, 220), (35, 470))


def implied_task_tokens(tokens: int, rho: float) -> float:
    """C_task from rho = C_task / (C_task + tokens), with no system prompt at all."""
    return rho * tokens / (1 - rho)


def not_adding_up() -> tuple[str, ...]:
    """Sentences on what the printed figures contradict, with the sums."""
    tools = sum(count for count, _ in TABLE_2)
    schemas = sum(count * tokens for count, tokens in TABLE_2)
    both = PHASE_1 + PHASE_2
    full = TABLE_3[0][1]
    implied = [implied_task_tokens(t, rho) for _, t, rho in TABLE_3]
    return (
        f"Table 2's rows average {schemas / tools:.0f} tokens a schema and sum to {schemas:,};"
        " the paper prints about 394 and 47,300.",
        f"The printed {PHASE_2:,} tokens a turn leave phase 1 out ({PHASE_1:,} in its Table 5):"
        f" together {both:,}, {100 * (1 - both / full):.1f} % less than B1 instead of 95.0 %, and"
        f" more than B3's {TABLE_3[2][1]:,}.",
        "Its rho column implies a different task size for every method"
        f" ({min(implied):,.0f} to {max(implied):,.0f} tokens), and by its equation 3, which adds"
        " the tools up over all turns, rho would be far lower for all.",
        "Figure 5 puts the fracture point of 1 / (1 + 400 N / C_max) at N of about 50; with"
        f" C_max = 200,000 that formula reaches 0.3 at N = {200_000 / 400 * (1 / 0.3 - 1):,.0f}.",
        "Phase 1 grows with N, not logarithmically: 40 tokens a summary are 40,000 at N = 1,000.",
        "Its code prints other figures than its Table 3 (B1 57,452, B3 5,390, phase 1 787, phase 2"
        " 4,672), has no B2 and no B4, and asks 7 queries that are copies of summaries.",
        "Success, latency, cost and quality are projections there; here only cost and prefill time"
        " are projected, from the constants named.",
    )
