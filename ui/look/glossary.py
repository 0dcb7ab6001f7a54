"""The one glossary: words of the window, each explained in a sentence or two."""

from app.catalog.reasons import WITHHELD, sentence

TERMS = (
    ("server", "A program or address that offers tools to AI applications by the protocol MCP."),
    ("tool", "One thing that a server can do for a model. Each costs tokens in every request."),
    ("host", "An application that talks to servers: Claude Desktop, Cursor, VS Code."),
    (
        "tokens ≈",
        "Size of a tool's definition as a model receives it, counted over name,"
        " description and input schema. Models with another tokenizer get other numbers.",
    ),
    (
        "budget",
        "How many tokens you allow tool definitions to take. WARN and BLOCK begin where"
        " you set them in Budget: at first from 80 %, and above 100 %.",
    ),
    (
        "threshold",
        "Tools scoring below this are not shown for a query. Lower finds more and costs"
        " more tokens.",
    ),
    ("top-k", "At most this many tools are shown for a query."),
    (
        "score parts",
        "How the score came about: shared words, similar meaning, past use once learned.",
    ),
    (
        "held back",
        f"No host sees the tool until you decide: {', or '.join(map(sentence, WITHHELD))}.",
    ),
    ("pinned", "Always shown to the model, outside threshold and top-k."),
    ("profile", "A set of choices: which tools are on, and the budget. Each host has one."),
    ("as is", "The host starts its servers itself. Toolcrib changes nothing."),
    ("native", "The host's own file names the tools to leave out. Toolcrib need not run."),
    ("pruned", "Toolcrib starts each server for the host and leaves out the tools that are off."),
    (
        "through Toolcrib",
        "The host has one entry, Toolcrib. Its model searches for tools and calls them.",
    ),
    ("condition", "A rule that must hold before a tool is offered."),
    ("query set", "Your own queries with the tools that each should find. Running it measures."),
    ("hook", "A program that the host runs before a prompt. It suggests fitting tools."),
    ("sharing", "Several conversations use one running server instead of one each."),
    ("HTTP", "A host that cannot start programs reaches Toolcrib by URL. It is off at first."),
)


def explained(term: str) -> str:
    """The explanation of a term; raises KeyError for a word that is not in the glossary."""
    return {name.lower(): text for name, text in TERMS}[term.lower()]
