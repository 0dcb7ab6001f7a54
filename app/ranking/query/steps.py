"""Steps of a request: where one order ends and the next begins."""

import re

from app.ranking.text import LONGEST_QUERY, content_words

MOST_STEPS = 6
# orders that requests for tools are made of: after a comma or "and" they begin a step
_VERBS = """
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
""".split()
_ADVERBS = "then|also|afterwards|after that|finally|next|first|lastly|if so|please|just"
_BEFORE = rf"(?:,\s*|\s+(?:and|then|&)\s+|,\s*(?:and|then|but)\s+)(?:(?:{_ADVERBS}),?\s+)*"
_JOINT = re.compile(
    rf"[.!?]\s+|[;\n]+|,?\s+and then\s+|,?\s+(?:then|afterwards|after that|finally),?\s+"
    rf"|{_BEFORE}(?=(?:{'|'.join(_VERBS)})\b(?!\s+(?:of|is|are|was)\b))",
    re.IGNORECASE,
)


def orders(query: str) -> list[str]:
    """The orders of a request in their own order, as typed; [] where there is one alone."""
    pieces = [piece.strip(" ,") for piece in _JOINT.split(query[:LONGEST_QUERY])]
    made = [piece for piece in pieces if content_words(piece)]
    return made[:MOST_STEPS] if len(made) > 1 else []
