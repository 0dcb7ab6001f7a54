"""Long prompts: the sentences that are read of them."""

import pytest

from app.ranking.query import prompts
from app.ranking.query.prompts import LEAST_DENSE, LEAST_WORDS, read_prompt
from app.ranking.query.reading import read_query
from app.ranking.report import ranked_json

STORY = (
    "We are four people who run a small shop, and since the summer most of it has been on one"
    " machine in the cellar. It was slow on Friday, two customers called, and Anna drove there in"
    " the evening. The forum had one answer, which was to reinstall everything. The documentation"
    " is about an older version in which half of the menus were in other places."
)
RULES = (
    "A few things about how I like to work. Keep answers short. Do not rewrite files that have"
    " nothing to do with the matter. If something is unclear, make the most likely assumption."
)
CODE = "```python\nfor row in rows:\n    print(row.name, row.total)\n    row.save()\n```"
LOG = "\n".join(
    f"2026-11-14T08:12:{n:02d}Z INFO [web] job queued name=thumb id={n}" for n in range(30)
)


@pytest.mark.parametrize("place", [0, 2, 4])
@pytest.mark.parametrize(
    "request_",
    [
        "Create an issue for the slow page.",
        "The page is slow. Create an issue for it.",
        "Can you say which branches there are?",
        "I would like to see the commits of last week.",
        "Shorten this text to two lines.",
        "Since the fix is out, close the issue about it.",
        "Rewrite read_rows so that an error names its line.",
    ],
)
def test_the_request_is_found_wherever_it_is(place, request_):
    parts = [STORY, RULES, CODE, LOG]
    assert read_prompt("\n\n".join([*parts[:place], request_, *parts[place:]])) == request_


def test_a_request_at_the_end_of_a_story_is_found_without_it():
    assert read_prompt(f"{CODE}\n\n{RULES}\n\n{STORY} Open an issue about it.") == (
        "Open an issue about it."
    )


def test_without_a_request_the_ends_are_read():
    prompt = f"The page is slow.\n\n{STORY}\n\n{CODE}\n\n{LOG}\n\nAn issue would help."
    assert read_prompt(prompt) == "The page is slow. An issue would help."


def test_several_requests_of_one_kind_are_all_read():
    prompt = f"Create an issue.\n\n{STORY}\n\n{CODE}\n\n{STORY}\n\nTell the team about it."
    assert read_prompt(prompt) == "Create an issue. Tell the team about it."


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "\n\n",
        STORY,
        f"{STORY} Create an issue for it.",  # a single paragraph that is no long one
        " ".join(["Please list the branches of the repository."] * LEAST_WORDS),
        "\n\n".join(["List the branches of it.", "Close the issue."] * LEAST_DENSE),
        LOG * 4,
        CODE * 40,
    ],
)
def test_other_texts_are_read_as_they_are(prompt):
    assert read_prompt(prompt) == ""


def test_a_long_prompt_may_be_in_another_language():
    reading = read_query(f"{STORY}\n\n{CODE}\n\n{LOG}\n\nKannst du mir die Dateien zeigen?", bool)
    assert reading.translated and reading.text == "file show"


def test_the_ends_of_the_longest_prompts_are_read():
    filler = f"{STORY}\n\n" * 3000
    assert read_prompt(f"{filler}Create an issue for it.") == "Create an issue for it."
    assert read_prompt(f"Create an issue for it.\n\n{filler}") == "Create an issue for it."


def test_a_long_prompt_finds_the_tool_and_says_how_it_was_read(make_router):
    router, _db, _catalog = make_router()
    prompt = f"{STORY}\n\n{CODE}\n\n{RULES}\n\nCreate an issue for it.\n\n{LOG}"
    for limit in (None, 5):
        ranked = router.route(prompt, limit=limit)
        assert ranked.tools[0].tool_id == "github/create_issue"
        assert "Read of the prompt: “Create an issue for it.”" in ranked_json(ranked)["note"]


def test_the_longest_prompts_take_time_that_grows_with_their_length():
    for text in ("a" * 200_000, "A " + ". " * 9000, "```\n" * 5000, "a.b " * 9000, "Do: " * 9000):
        read_prompt(f"{text}\n\n{text}")


def test_each_sentence_of_a_prompt_is_judged_once(monkeypatch):
    judged = []
    signs = prompts._signs
    monkeypatch.setattr(prompts, "_signs", lambda text: judged.append(text) or signs(text))
    assert read_prompt("\n\n".join([STORY, "Create an issue for it.", RULES]))
    assert len(judged) == len(set(judged)) == 9
