"""Test that a query is in English, the one language that the default encoder compares well.

A cosine of another language's query says little, so it cannot say that nothing fits.
"""

import re

from app.ranking.text import LONGEST_QUERY, STOP_WORDS

# the commonest words of six languages that are no English words
_COMMON_TEXT = """
aber alle als auch auf aus bei bitte das dem den der des dich ein eine einem einen einer eines
für gib hat ich im ist kann kannst kein keine machen mein meine meinem meinen mir mit nach nicht
noch oder sind sich und uns unter vom von vor welche welchen welcher werden wie wir zeig zeige
zu zum zur über
au aux avec ce ces cette chez dans des du elle est et il je la le les leur ma mes moi mon nous
où par peux pour quel quelle quels qui sont sur tous toutes un une vers voici vous à
al aquí busca como con cuál cuáles cómo del desde donde el en entre es esta este esto están hay
hoy la las lo los mi mis muestra muéstrame más para pero por puedes que qué quiero se sin sobre
su todas todos una unos y ya
che chi ci come cosa da dal dei della delle di dove e gli ho il le mia mio mostra nel nella non
per più quali sono su tra tutti
ao aos como da das dos em esse esta eu fazer isso meu meus minha mostre na nas no não nos o os
para pela pelo por quais são também um uma você à
aan alle bij dat de deze dit een en ga geef het hoe ik je kun kunt maak met mijn naar niet om
ons op te toon uit van voor waar wat welke zijn zoek
"""
_COMMON = frozenset(_COMMON_TEXT.split()) - STOP_WORDS.union(
    ("dos", "no", "per", "come", "den", "om", "o", "e", "y", "pour", "ma")
)
_WORD = re.compile(r"[^\W\d_]+")
_LEAST = 2  # common words of other languages,
_ENGLISH = STOP_WORDS.difference(("a", "as", "do", "in", "me", "was", "so", "an", "i", "am"))
_LAST_LATIN = "\u024f"
_OTHER_SCRIPT = 0.3  # share of letters that are not Latin


def is_english(query: str) -> bool:
    """True if no sign of another language is present; names and code count as English."""
    typed = _WORD.findall(query[:LONGEST_QUERY].lower())
    letters = "".join(typed)
    if sum(letter > _LAST_LATIN for letter in letters) > _OTHER_SCRIPT * len(letters):
        return False
    foreign = sum(word in _COMMON for word in typed)
    accented = sum(not word.isascii() for word in typed)
    return foreign + accented < _LEAST or foreign <= sum(word in _ENGLISH for word in typed)
