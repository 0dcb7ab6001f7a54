"""Characters that people do not see or that look alike, and texts made plain again."""

import re
import unicodedata

from app.core.text import visible as text_visible

# letters of other scripts that look like Latin ones; enough for names and key words
LOOK_ALIKES = str.maketrans(
    "аеорсухіјѕԁԛԝһӏАВЕКМНОРСТУХІЈЅοιαυνρκΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijsdqwhlABEKMHOPCTYXIJSoiauvpkABEZHIKMNOPTYX",
)
BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
TAGS = re.compile("[\U000e0000-\U000e007f\U000e0100-\U000e01ef]|[\ufe00-\ufe0f]{3,}")
# a flag such as Scotland's is a black flag spelled out in tag characters
FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{2,8}\U000e007f")
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
ZERO_WIDTH = re.compile("[\u200b\u2060-\u2064\u00ad\u180e]|(?<=.)\ufeff")
JOINERS = re.compile("[\u200c\u200d]")
PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")
GAP = re.compile(r"(?<!\s)\s{25,}+(?=\S)")  # white space before more text


def hidden_characters(text: str) -> dict[str, str]:
    """Rule ids of what is hidden in a text, each with the passage made visible."""
    if text.isprintable() and text.isascii() and len(text) < 80:
        return {}
    passages = {}
    plain = FLAG.sub("", text)
    for rule, pattern in (
        ("HC-01", BIDI),
        ("HC-02", TAGS),
        ("HC-03", CONTROL),
        ("HC-04", ZERO_WIDTH),
        ("HC-05", PRIVATE),
    ):
        match = pattern.search(plain)
        if match is None and rule == "HC-04":
            match = _joiner(plain)
        if match:
            passages[rule] = _excerpt(plain, match)
    gap = next((g for g in GAP.finditer(plain) if _pushes_away(g.group())), None)
    return passages | {"HC-06": _excerpt(plain, gap)} if gap else passages


def _excerpt(text: str, match: re.Match[str]) -> str:
    return visible(text[max(0, match.start() - 30) : match.end() + 30])


def _pushes_away(gap: str) -> bool:
    """True if a gap is wider or higher than a screen shows."""
    return gap.count("\n") >= 25 or max(map(len, gap.split("\n"))) >= 80


def _joiner(text: str) -> re.Match[str] | None:
    """The first joiner between characters that never join (it is at home in emoji and scripts)."""
    for match in JOINERS.finditer(text):
        before = text[match.start() - 1 : match.start()]
        if not before or before.isascii():
            return match
    return None


def visible(text: str) -> str:
    """The text with everything invisible written as its code point, and long gaps shortened."""
    shorter = re.sub(r"\s{9,}", lambda gap: f" [{len(gap.group())} blanks] ", text)
    return spelled_out(shorter.replace("\n", " ").replace("\t", " "))


def spelled_out(text: str) -> str:
    """The text with everything invisible written as its code point, line ends too."""
    return text_visible(text, form="[U+{:04X}]")


def mixed_scripts(name: str) -> bool:
    """True if a name has Latin letters and look-alikes of other scripts."""
    latin = any(c.isascii() and c.isalpha() for c in name)
    return latin and name.translate(LOOK_ALIKES) != name


def made_plain(text: str) -> str:
    """The text as a reader would take it: one script, no invisible characters, single spaces."""
    if text.isascii():
        return re.sub(r"\s+", " ", text)
    shown = "".join(
        c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf"
    )
    return re.sub(r"\s+", " ", shown.replace("’", "'")).translate(LOOK_ALIKES)
