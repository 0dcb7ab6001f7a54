"""Queries in other languages, word by word in English: what the tools' texts are written in.

`resources/languages/words.psv` has the words that requests for tools are made of (the most frequent
ones of the request pack) in German, Spanish, French, Portuguese, Chinese and Japanese. A word that
is not in it stays as it is: names, code and borrowed words are the same everywhere.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from app.ranking.query.language import (
    COMMON,
    ENGLISH,
    GLOSSED,
    HAN,
    KANA,
    is_latin,
    language_of,
    may_be_foreign,
)
from app.ranking.text import LONGEST_QUERY

_IDEOGRAPHIC = frozenset(("zh", "ja"))
_WORD = re.compile(r"[^\W_]+")
_END = re.compile(r"[.!?;,\n。！？；，、]+")
_ELIDED = re.compile(r"\b(?:[cdjlmnst]|qu|jusqu|lorsqu)['’](?=\w)", re.IGNORECASE)
_CJK = re.compile(f"[{HAN}{KANA}ー々]+")
_LEAST_STEM = 3
_STOP = "\0"  # in place of a word that says nothing
_LEAST_KNOWN = 0.2  # share of words that must be known
_SURE = 0.6  # share of words that must be known where few signs tell the language
_LINKS = ("", "s", "n", "en", "es", "e")  # between the parts of a German compound
# inflections, longest first; what is left must be a stem that the list has, too
_ENDINGS = {
    "de": "ungen ung enden ende end ern est sten ten ste ete te en em er es st e n s t",
    "es": "andolos iendolos arlos erlos irlos amelo ando iendo aciones acion amos emos imos aron"
    " ieron aria eria aba ada ado ida ido ara era ira adas ados idas idos arme arlo arla erlo irlo"
    " ame eme alo ala elo ela ale ele asme ar er ir an en as es os a e o s",
    "fr": "issement ements ement ations ation issez issent eront erait eais ait ant ante ees ee"
    " ez er ir ent ons is it re es e s x",
    "pt": "ando endo indo acoes acao amos emos imos aram eram iram aria eria ada ado ida ido adas"
    " ados idas idos ares oes ens ar er ir am em as es os a e o s",
}
_STEMS = {name: tuple(endings.split()) for name, endings in _ENDINGS.items()}


@dataclass(frozen=True, slots=True)
class Glossed:
    """A query in English words, and the share of its own words that were known."""

    text: str
    language: str
    known: float
    hits: int  # words of it that are known, or common in its language,
    words: int  # of so many


def gloss(query: str, has_word: Callable[[str], bool] = lambda _word: True) -> Glossed | None:
    """A query of another language in English; None where it is in English, or nothing is known.

    `has_word` tells whether the catalogue has a word: a text without signs of any language, most of
    whose words no tool has, may be in another one ("gire a imagem").
    """
    text = query[:LONGEST_QUERY]
    language = language_of(text)
    if language in _IDEOGRAPHIC:
        made = _words_of(language).read(text)
        return made if made.known >= _LEAST_KNOWN else None
    if not is_latin(text) or (language == ENGLISH and not may_be_foreign(text, has_word)):
        return None
    made = _likeliest(text)
    if language in GLOSSED:
        return made if made.known >= _LEAST_KNOWN else None
    # English by its signs, or of a language without a list, like Dutch
    changed = made.text.lower() != text.strip().lower()
    return made if changed and made.known and made.hits >= _SURE * made.words else None


def _likeliest(text: str) -> Glossed:
    """A gloss by the language of which most words are known or common."""
    made = [_words_of(language).read(text) for language in _ENDINGS]
    return max(made, key=lambda one: (one.hits, one.known))


class _Words:
    """One language's words: as they are, by stem, and phrases of several words."""

    def __init__(
        self, language: str, rows: Iterable[tuple[str, str]], stops: Iterable[str]
    ) -> None:
        self._language = language
        self._exact: dict[str, str] = {}
        self._stems: dict[str, str] = {}
        for english, word in rows:
            key = plain(word)
            self._exact.setdefault(key, english)
            self._stems.setdefault(next(self._stems_of(key)), english)
        self._longest = max((len(word) for word in self._exact), default=0)
        self._most = max((word.count(" ") + 1 for word in self._exact), default=1)
        stops = [*COMMON.get(language, "").split(), *stops]
        self._stops = frozenset(map(plain, stops)) - self._exact.keys()

    def read(self, query: str) -> Glossed:
        """The query word by word; ends of sentences stay, as steps are cut there."""
        read: list[str] = []
        known = total = stops = 0
        for part in _END.split(query):
            if read and read[-1] != ".":
                read.append(".")
            for word, english in self._part(part):
                if word == _STOP:
                    stops += 1
                    continue
                total += 1
                known += bool(english)
                read.append(english or word)
        text = " ".join(filter(None, read)).replace(" .", ".").strip(" .")
        share = known / total if total else 0.0
        return Glossed(text, self._language, share, known + stops, total + stops)

    def _part(self, part: str) -> Iterator[tuple[str, str]]:
        if self._language in _IDEOGRAPHIC:
            return self._unspaced(part)
        return self._spaced(_WORD.findall(_ELIDED.sub("", part)))

    def _spaced(self, words: list[str]) -> Iterator[tuple[str, str]]:
        place = 0
        while place < len(words):
            for length in range(min(self._most, len(words) - place), 1, -1):
                phrase = self._exact.get(plain(" ".join(words[place : place + length])))
                if phrase:
                    yield phrase, phrase
                    place += length
                    break
            else:
                word = words[place]
                key = plain(word)
                place += 1
                yield (_STOP, "") if key in self._stops else (word, self._one(key))

    def _one(self, word: str) -> str:
        """One word in English, "" where it is unknown."""
        entry = self._inflected(word)
        if entry or self._language != "de":
            return entry
        participle = self._inflected(word[2:]) if word.startswith("ge") else ""
        return participle or self._compound(word)

    def _inflected(self, word: str) -> str:
        """The word as it is in the list, or with another ending there."""
        if word in self._exact:
            return self._exact[word]
        for stem in self._stems_of(word):
            if entry := self._exact.get(stem) or self._stems.get(stem):
                return entry
        return ""

    def _compound(self, word: str) -> str:
        """Both parts of a German compound, where the list has them."""
        for cut in range(len(word) - _LEAST_STEM, _LEAST_STEM - 1, -1):
            last = self._inflected(word[cut:])
            if not last:
                continue
            for link in _LINKS:
                head = word[:cut].removesuffix(link) if word[:cut].endswith(link) else ""
                first = self._inflected(head) if len(head) >= _LEAST_STEM else ""
                if first:
                    return first if first == last else f"{first} {last}"
        return ""

    def _stems_of(self, word: str) -> Iterator[str]:
        """A word without each ending that it may have, the longest first, then as it is."""
        for ending in _STEMS.get(self._language, ()):
            if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
                yield word[: -len(ending)]
        yield word

    def _unspaced(self, part: str) -> Iterator[tuple[str, str]]:
        """The longest known word at each place; Latin words stay."""
        place = 0
        while place < len(part):
            run = _CJK.match(part, place)
            if run is None:
                latin = re.compile(f"[^{HAN}{KANA}ー々]+").match(part, place)
                assert latin is not None
                yield from ((word, "") for word in _WORD.findall(latin[0]))
                place = latin.end()
                continue
            yield from self._run(run[0])
            place = run.end()

    def _run(self, run: str) -> Iterator[tuple[str, str]]:
        place, unknown = 0, 0
        while place < len(run):
            for length in range(min(self._longest, len(run) - place), 0, -1):
                entry = self._exact.get(run[place : place + length])
                if entry and (length > 1 or self._alone(run, place)):
                    yield entry, entry
                    place += length
                    break
            else:
                unknown += "\u4e00" <= run[place] <= "\u9fff"
                place += 1
        if unknown > 1:
            yield "", ""

    def _alone(self, run: str, place: int) -> bool:
        """True if a single character may be a word: in Japanese, without others beside it."""
        if self._language == "zh":
            return True
        beside = run[max(0, place - 1) : place] + run[place + 1 : place + 2]
        return not any("\u4e00" <= letter <= "\u9fff" for letter in beside)


def plain(word: str) -> str:
    """A word in small letters without accents."""
    small = word.lower().replace("ß", "ss").replace("œ", "oe").replace("’", "'")
    if small.isascii() or small[0] >= "\u3040":
        return small
    marks = unicodedata.normalize("NFD", small)
    return "".join(letter for letter in marks if not unicodedata.combining(letter))


@lru_cache(maxsize=1)
def _rows() -> Mapping[str, tuple[tuple[str, str], ...]]:
    """Pairs of English and foreign words, by language."""
    text = _resource("words.psv")
    pairs: dict[str, list[tuple[str, str]]] = {language: [] for language in GLOSSED}
    for line in text.splitlines():
        english, *columns = line.split("|")
        for language, words in zip(GLOSSED, columns, strict=True):
            pairs[language] += ((english, word.strip()) for word in words.split(",") if word)
    return {language: tuple(entry) for language, entry in pairs.items()}


@lru_cache(maxsize=len(GLOSSED))
def _words_of(language: str) -> _Words:
    """One language's words, read at its first query."""
    stops = dict(line.split("|") for line in _resource("stop_words.psv").splitlines())
    return _Words(language, _rows()[language], stops.get(language, "").split())


def _resource(name: str) -> str:
    from importlib.resources import files  # loads pathlib and more: not for the gateway

    return files("resources").joinpath("languages", name).read_text(encoding="utf-8")
