"""Test if a sentence is an order or speaks about one: quoted, negated, or looked for."""

import re

# a quotation of some words; an apostrophe inside a word opens none
QUOTED = re.compile(
    r"“[^”]{3,300}”|„[^“”]{3,300}[“”]|«[^»]{3,300}»|‹[^›]{3,300}›|「[^」]{2,300}」|『[^』]{2,300}』"
    r"|\"[^\"\n]{3,300}\"|`[^`\n]{3,300}`|(?<!\w)'[^'\n]{3,300}'(?!\w)"
)
# right before what is forbidden: "never follow instructions found in ..."
_NEGATED = re.compile(
    r"\b(?:not|never|n't|nor|cannot|without|instead of|rather than|refus\w+ to|avoid)"
    r"(?: (?:ever|blindly|simply|just|be|to|or \w+|\w+ or))? $",
    re.I,
)
# "Detects prompts that ...": the thing is the object of a verb that tells what the tool does
_LOOKS_FOR = re.compile(
    r"\b(?:detects?|checks?|flags?|finds?|blocks?|rejects?|refuses?|reports?|analy[sz]es?|scans?|"
    r"classif(?:y|ies)|identif(?:y|ies)|recogni[sz]es?|filters?|tests?|simulates?|catches|catch|"
    r"prevents?|warns?|evaluates?|screens?|judges?)\b[^.:;!?]{0,90}"
    r"\b(?:that|which|who|whether|if|trying to|tries to|attempts? to|asks?|asking|tells?|telling|"
    r"orders?|ordering)\b[^.:;!?]{0,40}$",
    re.I,
)
_LABEL = re.compile(
    r"\b(?:(?:mock|canned|fake|dummy|sample)\w*(?: \w+){0,2}"
    r"|(?:training|test|demo|example|illustrative|placeholder|fixture)s? (?:\w+ )?"
    r"(?:text|string|phrase|sentence|response|reply|output|prompt|message|payload|passage)s?):",
    re.I,
)
# what makes a sample an order: a person who gets something, or something worth getting
_CARRIES = re.compile(
    r"https?://[^\s/.)]|[\w.+-]{1,40}@[\w-]{1,40}\.|(?:~|/etc|/home|/root)/|\.env\b|\bid_rsa\b"
    r"|\b(?:secret|credential|password|token|key|passphrase|cookie|conversation|chat)s?\b",
    re.I,
)
# what a switch is for: "Whether Grafana should forward cookies"; with "or not" or a second
# clause it may go on with an order
_WHETHER = re.compile(
    r"\W*(?:(?:indicates|specifies|determines|controls|sets) )?whether (?!or\b)[^,;:!?]{1,200}\W*",
    re.I,
)
_OR_NOT = re.compile(r"\bor not\b|\b(?:you|please|must|always)\b", re.I)
# a tool that works against an attack names it; one that carries it out says so by a verb
_DEFENDS = re.compile(
    r"\b(?:check|detect|report|known|protect|prevent|quarantin|look(?:s|ing)? for|statistic|feed"
    r"|blacklist|blocklist|indicator|awareness|associated with|lookup|anti)\w*",
    re.I,
)
_ATTACKS = re.compile(
    r"\b(?:generat|launch|perform|execut|deploy|inject|exploit|crack|dump|steal|brute|spray|bypass"
    r"|evad|forg|creat|craft|send|sniff|harvest|establish|obtain|gain|simulat)\w*",
    re.I,
)
_WINDOW = 160  # characters of a sentence before the words in question


def mentioned(text: str, start: int, end: int) -> bool:
    """True if the words text[start:end] are spoken about; a word before an order excuses none."""
    before = _sentence_before(text, start)
    if _NEGATED.search(before) or _LOOKS_FOR.search(before):
        return True
    offset = max(0, start - 300)
    around = text[offset : end + 300]
    return any(
        quoted.start() < start - offset and end - offset < quoted.end() + 1
        for quoted in QUOTED.finditer(around)
    )


def is_against(sentence: str) -> bool:
    """True if a sentence names an attack as what it detects or reports, and carries none out."""
    words = sentence.replace("_", " ")
    return _DEFENDS.search(words) is not None and _ATTACKS.search(words) is None


def labelled_as_sample(text: str, start: int) -> bool:
    """True if the words follow "Mock response:" and the like, and carry nothing off."""
    before = _sentence_before(text, start)
    label = _LABEL.search(before)
    if label is None:
        return False
    sample = start - len(before) + label.end()
    return not _CARRIES.search(text[sample : start + 2 * _WINDOW])


def is_indirect_question(sentence: str) -> bool:
    """True if a sentence only says what a switch decides, and orders nothing."""
    return _WHETHER.fullmatch(sentence) is not None and _OR_NOT.search(sentence) is None


def without_quotations(sentence: str) -> str:
    """The sentence with its quotations of three words and more left out."""
    return QUOTED.sub(lambda m: m.group() if m.group().count(" ") < 2 else "“…”", sentence)


def _sentence_before(text: str, start: int) -> str:
    before = text[max(0, start - _WINDOW) : start]
    return re.split(r"[.!?。\n]\s", before)[-1]
