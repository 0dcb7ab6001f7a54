"""Distinguishes ordinary values (words, numbers, paths, packages) from possible secrets.

No list has every credential's shape, so the test is the other way round: a value that is plainly
something else is shown, all the rest is hidden.
"""

import re

from app.core.scrubber import SHORTEST

# A value that only names a variable, an input or a file holds no secret itself.
_INTERPOLATION = re.compile(
    r"^(?:[A-Za-z]+ )?(?:\$\{\{[^}]*\}\}|\$\{[^}]*\}|\{(?:env|file):[^}]*\}|\$\w+|\$\([^)]*\)|%\w+%"
    r"|\{\{[^}]*\}\})$"
)
_SEPARATORS = re.compile(r"[^\w]|_")
_PATH = re.compile(r"^(?:~|\.{1,2})?[/\\]|^[A-Za-z]:[/\\]")
_WORD = re.compile(r"[a-z]{1,24}|[A-Z]{1,15}|[^\W\d_]{1,24}")
_HUMPS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_NUMBER = re.compile(r"\d{1,10}")
_SHORT_MIXTURE = re.compile(r"[A-Za-z]{1,3}\d{1,3}[A-Za-z]?|\d{1,3}[A-Za-z]{1,2}")  # v2, x86, 4o
_TECHNICAL = re.compile(
    r"(?i)(?:python|node|java|php|ruby|win|sha|amd|arm|oauth|base|utf|http|ipv|postgres|neo|es"
    r"|sqlite|mysql|ubuntu|debian|llama|claude|gpt|version|rc|beta|alpha|cu)\d{1,4}[a-z]?"
)
_NUMBERED = re.compile(r"[a-z]{3,20}\d{1,2}")  # context7; alone it could be a password
_MOST_MIXTURES = 2  # a key in groups of four is made of nothing else
_MOST_PARTS = 12
_HUMP_LETTERS = 3.0  # on average; AbCdEfGh is no name
_RANDOM_LENGTH = 12
# a commit or an image's digest: long and random, and needed to know what will run
_PIN = re.compile(r"(?<=@)[0-9a-f]{7,40}$|sha256:[0-9a-f]{64}")


def is_interpolation(value: str) -> bool:
    """True if a value only refers to a variable, an input or a file."""
    return bool(_INTERPOLATION.match(value.strip()))


def is_plain(value: str, *, mixtures: int = _MOST_MIXTURES) -> bool:
    """True if a value is plainly no credential: words, numbers, a path, a package, an address.

    `mixtures` is how many parts may mix letters and digits.
    """
    value = _PIN.sub("", value.strip())
    if len(value) < SHORTEST or is_interpolation(value):
        return True
    if _PATH.match(value) and "=" not in value:
        return not looks_random(value)
    parts = [part for part in _SEPARATORS.split(value) if part]
    odd = [part for part in parts if not _is_word(part)]
    if len(parts) > _MOST_PARTS or len(odd) > min(mixtures, len(parts) - 1):
        return False
    return all(_is_mixture(part) for part in odd) and sum(map(_is_numbered, odd)) <= 1


def looks_random(text: str) -> bool:
    """True if a text without blanks has a part as long and mixed as only generated values are."""
    return any(
        len(piece) >= _RANDOM_LENGTH
        and not all(
            _is_word(part) or _is_mixture(part) for part in _SEPARATORS.split(piece) if part
        )
        for piece in re.split(r"[^\w-]", _PIN.sub("", text))
    )


def _is_mixture(part: str) -> bool:
    return bool(_SHORT_MIXTURE.fullmatch(part)) or _is_numbered(part)


def _is_numbered(part: str) -> bool:
    return bool(_NUMBERED.fullmatch(part))


def _is_word(part: str) -> bool:
    if part.isdigit():
        return bool(_NUMBER.fullmatch(part))
    if _TECHNICAL.fullmatch(part):
        return True
    return bool(_WORD.fullmatch(part)) and _has_regular_case(part)


def _has_regular_case(word: str) -> bool:
    if not word.isascii() or word.islower() or word.isupper():
        return True
    humps = _HUMPS.findall(word)
    return sum(map(len, humps)) == len(word) and len(word) / len(humps) >= _HUMP_LETTERS
