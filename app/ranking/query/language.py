"""Language of a query: English, which the default encoder compares well, or another one.

A cosine of another language's query says little, so it cannot say that nothing fits.
"""

import re
from collections.abc import Callable

from app.ranking.text import LONGEST_QUERY, STOP_WORDS

ENGLISH, OTHER = "en", "other"
# with a list of words (gloss.py), in the order of its columns
GLOSSED = ("de", "es", "fr", "pt", "zh", "ja", "it", "ru", "ko", "nl", "pl", "tr")
# the commonest words of languages in Latin letters that are no English words
COMMON = {
    "de": """
aber alle als auch auf aus bei bitte das dem den der des dich ein eine einem einen einer eines
für gib hat ich im ist kann kannst kein keine machen mein meine meinem meinen mir mit nach nicht
noch oder sind sich und uns unter vom von vor welche welchen welcher werden wie wir zeig zeige
zu zum zur über
""",
    "fr": """
au aux avec ce ces cette chez dans des du elle est et il je la le les leur ma mes moi mon nous
où par peux pour quel quelle quels qui sont sur tous toutes un une vers voici vous à
""",
    "es": """
al aquí busca como con cuál cuáles cómo del desde donde el en entre es esta este esto están hay
hoy la las lo los mi mis muestra muéstrame más para pero por puedes que qué quiero se sin sobre
su todas todos una unos y ya
""",
    "it": """
agli alla alle anche che chi ci come cosa da dal dalla dammi degli dei dell della delle di dopo dove
e fammi gli hai hanno ho il le mia mie miei mio mostra mostrami nei nel nella nelle non ogni per
perché più quale quali quanti quanto questa queste questi questo sono su sul sulla tra trova tutti
tutte una
""",
    "pt": """
ao aos como da das dos em esse esta eu fazer isso meu meus minha mostre na nas no não nos o os
para pela pelo por quais são também um uma você à
""",
    "nl": """
aan alle bij dat de deze dit een en ga geef heb heeft het hoe hoeveel ik je jouw kun kunt laat maak
meer met mij mijn naar niet nog om ons onze op te toon uit van verwijder voeg voor waar waarom wat
welke wordt zet zijn zoek
""",
    "pl": """
czy daj dla ile jaka jakie jaki jest już które który która mamy mi mnie moich moje moja mój na nie
oraz po pokaż proszę przez przy się są tego tej ten tym usuń utwórz wszystkie wszystkich z za ze
znajdź że żeby
""",
    "tr": """
ama bana bir bu bunu değil en gibi göster hangi için ile kaç ne neden nasıl nerede olan olarak
şu tüm var ve veya yap
""",
}
_EVERY = {language: frozenset(words.split()) for language, words in COMMON.items()}
_COMMON = frozenset().union(*_EVERY.values()) - STOP_WORDS.union(
    (
        *("dos", "no", "per", "come", "den", "om", "o", "e", "y", "pour", "ma", "chi", "mi", "ten"),
        *("z", "po", "za", "ne", "var", "bu", "su", "ile", "yap", "meer"),
    )
)
HAN, KANA, HANGUL = "\u3400-\u9fff\uf900-\ufaff", "\u3040-\u30ff", "\uac00-\ud7a3"
# the first script that a text has tells its language; Ukrainian, Serbian and others have letters
# of their own beside the Russian ones
_SCRIPTS = tuple(
    (re.compile(f"[{letters}]"), language)
    for letters, language in (
        (HANGUL, "ko"), (KANA, "ja"), (HAN, "zh"), ("іїєґўјљњћђџѓќѕ", OTHER), ("а-яё", "ru")
    )
)  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+")
_LEAST = 2  # common words of other languages,
_ENGLISH = STOP_WORDS.difference(("a", "as", "do", "in", "me", "was", "so", "an", "i", "am"))
_LONG = 4  # letters of a word that is looked up
_LAST_LATIN = "\u024f"
_OTHER_SCRIPT = 0.3  # share of letters that are not Latin


def is_english(query: str) -> bool:
    """True if no sign of another language is present; names and code count as English."""
    typed = _WORD.findall(query[:LONGEST_QUERY].lower())
    if _is_other_script("".join(typed)):
        return False
    foreign, accented = _signs(typed)
    return foreign + accented < _LEAST or foreign <= sum(word in _ENGLISH for word in typed)


def language_of(query: str) -> str:
    """`en`, one of the known languages (those in other letters by their script), or `other`."""
    text = query[:LONGEST_QUERY].lower()
    if is_english(text):
        return ENGLISH
    typed = _WORD.findall(text)
    if _is_other_script("".join(typed)):
        return next((language for script, language in _SCRIPTS if script.search(text)), OTHER)
    counts = {language: sum(word in words for word in typed) for language, words in _EVERY.items()}
    return max(counts, key=counts.__getitem__)


def is_latin(query: str) -> bool:
    """True if most letters are Latin."""
    return not _is_other_script("".join(_WORD.findall(query[:LONGEST_QUERY].lower())))


def may_be_foreign(query: str, has_word: Callable[[str], bool]) -> bool:
    """True for a text that passes as English with too few signs: "Tonspur aus Videos".

    It has no English stop word, and a sign of another language or words that no tool has.
    """
    typed = _WORD.findall(query[:LONGEST_QUERY].lower())
    if any(len(word) > 1 and word in _ENGLISH for word in typed):
        return False
    if sum(_signs(typed)):
        return True
    long = [word for word in typed if len(word) >= _LONG]
    return bool(long) and 2 * sum(not has_word(word) for word in long) >= len(long)


def _signs(typed: list[str]) -> tuple[int, int]:
    """The common words of other languages, and the words with accents."""
    foreign = sum(word in _COMMON for word in typed)
    return foreign, sum(not word.isascii() for word in typed)


def _is_other_script(letters: str) -> bool:
    return sum(letter > _LAST_LATIN for letter in letters) > _OTHER_SCRIPT * len(letters)
