"""Steps of a request: where one order ends and the next begins."""

import re

from app.ranking.query.literals import read_steps
from app.ranking.text import LONGEST_QUERY, STOP_WORDS, content_words

MOST_STEPS = 6
# orders that requests for tools are made of: after a comma or "and" they begin a step
_VERB_TEXT = """
abort accept activate add analyze annotate apply approve archive ask assign attach blur book browse
build buy cancel change charge check checkout clean clear click clone close commit compare compile
compress compute configure connect convert copy count create crop cut deactivate debug delete deploy
describe detect disable dismiss display download draft draw drop duplicate edit email enable encode
evaluate execute explain export extract fetch file fill filter find fix follow fork format forward
generate get give grab grep group help highlight import index insert inspect install invite join
keep kill label launch leave let link list load lock log look make mark measure merge message
migrate monitor mount move mute navigate note notify open optimize order overlay parse paste patch
pause pay pin plan play plot post preview print profile promote publish pull push put query read
rebase recommend record redeploy refund register reject reload remind remove rename render reopen
replace reply report request rerun rescale reset resize resolve restart restore resume retrieve
return revert review revoke rotate run save scale scan schedule scrape search see select send set
share show shut sign sort spin split stage start stop submit subscribe summarise summarize suspend
switch sync tag take tell test trace track transcribe transfer translate trigger trim turn
unarchive undo unfollow uninstall unlock unmute unpin unsubscribe update upgrade upload use validate
verify view visit watch write zip
"""
_VERBS = "|".join(_VERB_TEXT.split())
_ADVERBS = "then|also|afterwards|after that|finally|next|first|lastly|if so|please|just"
_NO_VERB_TEXT = """
across after almost along although among around at because before behind below beneath beside
besides between beyond both despite during even finally first given half including inside instead
like maybe near nearly next once only outside per perhaps plus quite rather regarding since still
than then though together unless until upon whatever whenever whereas while within without yes yet
"""
NO_VERBS = STOP_WORDS.union(_NO_VERB_TEXT.split()).difference(
    ("do", "get", "give", "have", "help", "let")
)
_GAP, _MAYBE = r"\s{1,9}", r"\s{0,9}"
# any other verb in the form of an order, before what it does something to: "tail its logs"
_FORM = (
    rf"(?!(?:{'|'.join(sorted(NO_VERBS))})\b)"
    r"(?-i:[A-Za-z][a-z]{1,14}(?<![^s]s)(?<!ed)(?<!ing)(?<!ly))"
    rf"(?:{_GAP}(?:out|up|down|off|on|over|away|back))?{_GAP}"
    r"(?:the|an?|it|them|its|my|our|all|these|those|her|his|their|everything|each|every|another)\b"
)
_QUESTION = r"(?:what|which|who|whose|whether|how|where|when|why)\b"
_ALSO = rf"(?:(?:{_ADVERBS}),?{_GAP})"
_AND = rf"(?:,{_MAYBE}|{_GAP}(?:and|then|&){_GAP}|,{_MAYBE}(?:and|then|but){_GAP})"
_JOINT = re.compile(
    rf"[.!?]{_GAP}|[;\n]+|,?{_GAP}and then{_GAP}"
    rf"|,?{_GAP}(?:then|afterwards|after that|finally),?{_GAP}"
    rf"|{_AND}{_ALSO}{{0,3}}(?=(?:{_VERBS})\b(?!{_GAP}(?:of|is|are|was)\b)|{_FORM})"
    rf"|,?{_GAP}(?:and|&){_GAP}{_ALSO}{{0,3}}(?={_QUESTION})",
    re.IGNORECASE,
)
_POLITE = (
    r"(?:(?:please|hey|hi|ok|okay|so|can you|could you|would you|let's|help me"
    rf"|{_ADVERBS}),?{_GAP}){{0,4}}"
)
_ORDER = re.compile(rf"{_POLITE}(?:{_VERBS})\b", re.IGNORECASE)
_STEP = re.compile(rf"{_POLITE}(?:(?:{_VERBS})\b|{_FORM}|{_QUESTION})", re.IGNORECASE)

# what is wanted of a step's result, and nouns that look like orders
_ASIDE = re.compile(
    r"(?:tell|make sure|pull requests?|let (?:me|us) know|remind me if|keep in mind|note that)\b"
    r"|(?:ask|start|end|plan|order|report|file|note|label|log|mark|group|form|query|message|email|record"
    r"|test|release|match|view|watch|sign|stage|time|address)\s{1,9}[a-z]+s?\b(?<!the)(?<!an)(?<!it)(?<!all)"
    r"(?<!them)(?<!a)(?<!my)(?<!its)(?<!to)(?<!for)(?<!that)(?<!this)",
    re.IGNORECASE,
)


def begins_with_order(sentence: str) -> bool:
    """True if a sentence begins with an order that tools are asked by."""
    return bool(_ORDER.match(sentence)) and not _ASIDE.match(sentence)


def orders(query: str) -> list[str]:
    """The orders and questions of a request in their own order, as typed; [] where one is alone.

    Each begins with a verb or a question's word: what only tells about the matter makes no request
    of several steps.
    """
    made: list[str] = []
    for piece in _JOINT.split(query[:LONGEST_QUERY]):
        order = piece.strip(" ,")
        if made and _ASIDE.match(order):
            made[-1] = f"{made[-1]}, {order}"
        elif content_words(order):
            made.append(order)
    if len(made) < 2 or not all(_STEP.match(order) and " " in order for order in made):
        return []
    return made[:MOST_STEPS]


def steps_of(query: str) -> tuple[list[str], bool]:
    """The steps of a request, [] for one, and whether they are orders, which have an order."""
    made = orders(query)
    return (made, True) if made else (read_steps(query), False)
