"""Queries in other languages, word by word in English: what the tools' texts are written in.

`resources/languages/words.psv` has the words that requests for tools are made of (the most frequent
ones of the request pack) in the languages of language.GLOSSED. A word that is not in it stays as it
is: names, code and borrowed words are the same everywhere.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from app.ranking.query.language import (
    COMMON,
    ENGLISH,
    GLOSSED,
    HAN,
    HANGUL,
    KANA,
    is_latin,
    language_of,
    may_be_foreign,
)
from app.ranking.text import LONGEST_QUERY

_IDEOGRAPHIC = frozenset(("zh", "ja"))
_BY_SCRIPT = _IDEOGRAPHIC | {"ru", "ko"}
_WORD = re.compile(r"[^\W_]+")
_END = re.compile(r"[.!?;,\n。！？；，、]+")
_ELIDED = re.compile(
    r"\b(?:[cdjlmnstv]|qu|jusqu|lorsqu|un|(?:a|da|de|ne|su|que)l?l|cos|dov|com|quant)['’](?=\w)",
    re.IGNORECASE,
)
_CASE = re.compile(r"(?<=\w)['’]\w+")  # of a Turkish name: Ankara'dan
_HANGUL = re.compile(f"[{HANGUL}]+")
_CJK = re.compile(f"[{HAN}{KANA}ー々]+")
_LEAST_STEM = 3
_STOP = "\0"  # in place of a word that says nothing
_LEAST_KNOWN = 0.2  # share of words that must be known
_SURE = 0.6  # share of words that must be known where few signs tell the language
_LINKS = ("", "s", "n", "en", "es", "e")  # between the parts of a German or Dutch compound
_COMPOUNDS = frozenset(("de", "nl"))
# what a German or Dutch verb in front puts at a clause's end: "zet de lamp uit", "lade das hoch"
_PARTS_TEXT = """
aan ab af an auf aus bij ein fest herunter hinzu hoch mit op over stil stumm terug toe uit um vor
weg weiter zu zuruck zusammen
"""
_BEHIND_TEXT = (
    "am auf bei bis bij fur im in met mit naar nach op tot van von voor"  # what may follow
)
_PARTS, _BEHIND = frozenset(_PARTS_TEXT.split()), frozenset(_BEHIND_TEXT.split())
_MOST_BEFORE = 3  # words of a clause among which its verb is
# what a Turkish word may have behind it, in any number; dots and dotless letters are one (plain)
_SUFFIXES_TEXT = """
a acag acak aceg acek ar ca ce da daki dan de deki den di dik dir du duk dur e ecag ecak eceg ecek
er i il im imiz in inca ince iniz ip ir iyor ki la lar lari le ler leri li lik lu luk m ma mak me
mek mis miz mus muz n na nda ndaki ndan nde ndeki nden ne ni nin niz nta ntan nte nten nu nun nuz
si siz su suz ta tan te ten ti tik tu tuk u ul um umuz un unca unce unuz up ur uyor ya yacag yacak
yaceg yacek ye yecag yecak yeceg yecek yi yinca yince yla yle yu yunca yunce
"""
_SUFFIXES = frozenset(_SUFFIXES_TEXT.split())
_LONGEST_SUFFIX = max(map(len, _SUFFIXES))
_HARD = str.maketrans("gbdc", "kptc")  # the last letter of a Turkish word before a vowel
_PARTICLES = re.compile(
    r"(?:들?(?:을|를|이|가|은|는|의|에|에서|로|으로|와|과|도|만|께|한테|에게|부터|까지|보다|랑|이랑|나|이나|별|용)?"
    r"|[하해했한할됐된되돼줘주어아여려겨켜기고면서].*|(?:이야|야|인가|인지|있|없|좀).*)"
)
_PL = {"c": "kt", "z": "g"}  # consonants before an ending: kolejce is of kolejka
_LATIN = tuple(language for language in GLOSSED if language not in _BY_SCRIPT)
_LETTERS = ((("pl",), "ąęłśźżćń"), (("tr",), "ığşİ"))  # that only one of them has


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
    if language in _BY_SCRIPT:
        made = _words_of(language).read(text)
        return made if made.known >= _LEAST_KNOWN else None
    if not is_latin(text) or (language == ENGLISH and not may_be_foreign(text, has_word)):
        return None
    if language == ENGLISH and _is_of_english_words(text):
        return None
    made = _likeliest(text)
    if language in GLOSSED:
        return made if made.known >= _LEAST_KNOWN else None
    # English by its signs, or of a language without a list: what only leaves words out is English
    changed = not set(_WORD.findall(made.text.lower())) <= set(_WORD.findall(text.lower()))
    return made if changed and made.known and made.hits >= _SURE * made.words else None


def _is_of_english_words(text: str) -> bool:
    """True if half of the words are English ones of the list: "delete SQL server"."""
    typed = _WORD.findall(text.lower())
    return 2 * sum(word in _english() for word in typed) >= len(typed)


def _likeliest(text: str) -> Glossed:
    """A gloss by the language of which most words are known or common."""
    letters = set(text.lower())
    languages = next((own for own, sign in _LETTERS if not letters.isdisjoint(sign)), _LATIN)
    made = [_words_of(language).read(text) for language in languages]
    return max(made, key=lambda one: (one.hits, one.known))


class _Words:
    """One language's words: as they are, by stem, and phrases of several words."""

    def __init__(
        self,
        language: str,
        rows: Iterable[tuple[str, str]],
        stops: Iterable[str],
        endings: Sequence[str],
    ) -> None:
        self._language = language
        self._endings = endings  # inflections: what is left must be a stem that the list has, too
        self._exact: dict[str, str] = {}
        self._stems: dict[str, str] = {}
        for english, word in rows:
            key = plain(word)
            self._exact.setdefault(key, english)
            if endings:
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
        text = _CASE.sub("", part) if self._language == "tr" else _ELIDED.sub("", part)
        return self._spaced(_WORD.findall(text))

    def _joined(self, words: list[str]) -> list[str]:
        """The words with a verb's part at the clause's end before the verb: "lamp uitzet"."""
        for at in range(len(words) - 1, 0, -1) if self._language in _COMPOUNDS else ():
            part = plain(words[at])
            if part not in _PARTS or (words[at + 1 :] and plain(words[at + 1]) not in _BEHIND):
                continue
            for place, word in enumerate(words[: min(_MOST_BEFORE, at)]):
                if self._inflected(part + plain(word)):
                    rest = [*words[place + 1 : at], *words[at + 1 :]]
                    return [*words[:place], part + word, *rest]
        return words

    def _spaced(self, typed: list[str]) -> Iterator[tuple[str, str]]:
        words, place = self._joined(typed), 0
        while place < len(words):
            for length in range(min(self._most, len(words) - place), 1, -1):
                phrase = self._phrase(plain(" ".join(words[place : place + length])))
                if phrase:
                    yield phrase, phrase
                    place += length
                    break
            else:
                word = words[place]
                key = plain(word)
                place += 1
                if self._language == "ko" and _HANGUL.search(word):
                    yield from self._hangul(word)
                else:
                    yield (_STOP, "") if key in self._stops else (word, self._one(key))

    def _phrase(self, words: str) -> str:
        """Several words in English, "" where they are no phrase; of Korean, before particles."""
        if words in self._exact or self._language != "ko":
            return self._exact.get(words, "")
        first = words.rindex(" ") + 2
        cuts = (cut for cut in range(len(words) - 1, first - 1, -1) if words[:cut] in self._exact)
        return next((self._exact[words[:n]] for n in cuts if _PARTICLES.fullmatch(words[n:])), "")

    def _one(self, word: str) -> str:
        """One word in English, "" where it is unknown."""
        entry = self._inflected(word)
        if entry or self._language not in _COMPOUNDS:
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
        if self._language == "tr":
            yield from _turkish(word)
        for ending in self._endings:
            if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
                stem = word[: -len(ending)]
                yield stem
                yield from _sounds(self._language, stem)
        yield word

    def _hangul(self, word: str) -> Iterator[tuple[str, str]]:
        """A Korean word: known words from its beginning, then particles or an ending."""
        place = 0
        while place < len(word):
            rest = word[place:]
            if rest in self._stops:
                yield _STOP, ""
                return
            for length in range(min(self._longest, len(rest)), 0, -1):
                entry = self._exact.get(rest[:length])
                if entry and (length > 1 or _PARTICLES.fullmatch(rest[1:])):
                    yield entry, entry
                    place += length
                    break
            else:
                if place and _PARTICLES.fullmatch(rest):
                    yield _STOP, ""
                else:
                    yield ("" if _HANGUL.fullmatch(rest) else rest), ""
                return

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


def _turkish(word: str) -> Iterator[str]:
    """The beginnings of a Turkish word that only suffixes follow, the longest first."""
    ends = {len(word)}  # places from which only suffixes follow
    for cut in range(len(word) - 1, 1, -1):
        longest = min(len(word), cut + _LONGEST_SUFFIX)
        if any(end in ends and word[cut:end] in _SUFFIXES for end in range(cut + 1, longest + 1)):
            ends.add(cut)
            stem = word[:cut]
            yield stem
            yield stem[:-1] + stem[-1].translate(_HARD)


def _sounds(language: str, stem: str) -> Iterator[str]:
    """A stem as it may be written before other endings."""
    if language == "nl":
        if stem[-1] == stem[-2]:
            yield stem[:-1]  # mappen, map
        yield f"{stem[:-1]}{stem[-2]}{stem[-1]}"  # talen, taal
        yield stem[:-1] + {"v": "f", "z": "s"}.get(stem[-1], stem[-1])
    elif language == "pl":
        yield from (stem[:-1] + letter for letter in _PL.get(stem[-1], ""))
    elif language == "ru":
        if stem.endswith(("ок", "ек")):
            yield f"{stem[:-2]}к"  # папок, папка
        elif stem.endswith("к"):
            yield f"{stem[:-1]}ок"  # списка, список


def plain(word: str) -> str:
    """A word in small letters without accents."""
    small = word.lower().replace("ß", "ss").replace("œ", "oe").replace("’", "'")
    if small.isascii() or small[0] >= "\u3040":
        return small
    small = small.replace("ł", "l").replace("ı", "i")
    marks = unicodedata.normalize("NFD", small)
    return "".join(letter for letter in marks if not unicodedata.combining(letter))


@lru_cache(maxsize=1)
def _english() -> frozenset[str]:
    """The English words of the list."""
    lines = _resource("words.psv").splitlines()
    return frozenset(line.partition("|")[0] for line in lines)


def _rows(language: str) -> Iterator[tuple[str, str]]:
    """Pairs of English and foreign words."""
    column = GLOSSED.index(language)
    for line in _resource("words.psv").splitlines():
        english, *words = line.split("|")
        assert len(words) == len(GLOSSED)
        yield from ((english, word.strip()) for word in words[column].split(",") if word)


@lru_cache(maxsize=len(GLOSSED))
def _words_of(language: str) -> _Words:
    """One language's words, read at its first query."""
    return _Words(
        language, _rows(language), _own(language, "stop_words"), _own(language, "endings")
    )


def _own(language: str, kind: str) -> list[str]:
    """A language's line of a file, as words."""
    lines = dict(line.split("|") for line in _resource(f"{kind}.psv").splitlines())
    return lines.get(language, "").split()


def _resource(name: str) -> str:
    from importlib.resources import files  # loads pathlib and more: not for the gateway

    return files("resources").joinpath("languages", name).read_text(encoding="utf-8")
