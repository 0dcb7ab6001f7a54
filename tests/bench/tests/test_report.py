import json

from tests.bench.report import COMPUTED, PROJECTED, Column, Report, label, table

REPORT = Report(
    "demo",
    (
        table(
            "Costs",
            [label("way"), Column("tokens"), Column("rho", COMPUTED), Column("$", PROJECTED)],
            [("full", 47_312, 0.24, 4.2), ("none", None, 1500.0, 12.34)],
        ),
    ),
    ("A note.",),
)


def test_every_figure_is_marked_in_the_text() -> None:
    assert REPORT.as_text() == (
        "Costs\n"
        "way   tokens [m]  rho [c]  $ [p]\n"
        "full      47,312     0.24    4.2\n"
        "none           -    1,500   12.3\n"
        "\n"
        "- A note."
    )


def test_every_figure_is_marked_in_the_json() -> None:
    found = json.loads(json.dumps(REPORT.as_json()))
    assert found["experiment"] == "demo"
    (costs,) = found["tables"]
    assert costs["kinds"] == {"tokens": "measured", "rho": "computed", "$": "projected"}
    assert costs["rows"][0] == {"way": "full", "tokens": 47312, "rho": 0.24, "$": 4.2}
    assert found["notes"] == ["A note."]
