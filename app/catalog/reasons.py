"""Kinds of reason that make a tool unavailable, and the one sentence for each.

Imports nothing: the gateway's start reads it. The rule itself is in app.catalog.availability.
"""

# in the order in which they are named where several hold
GONE = "gone"  # its server no longer lists it
OUTSIDE = "outside"  # its server is not one of the profile's
DISABLED = "disabled"  # its server is disabled: Toolcrib neither starts nor serves it
DROPPED = "dropped"  # its server was taken from what this host reaches
OFF = "off"  # no tick in this profile
PROJECT = "project"  # the policy file of the project leaves it out
UNTRUSTED = "untrusted"  # its server is not allowed yet
HELD = "held"  # the user holds it back
CHANGED = "changed"  # its text is not the one that was trusted
BLOCKED = "blocked"  # a finding that is not approved
NEW = "new"  # it appeared after its server was trusted
UNCHECKED = "unchecked"  # a running server lists it, and its text is not reviewed yet
UNUSABLE = "unusable"  # no host could use it, as a schema that is none
PRIVATE = "private"  # an allowlist names others
PRECONDITION = "precondition"  # the session has not reached what it needs

WITHHELD = (UNTRUSTED, HELD, CHANGED, BLOCKED, NEW)  # kept back whatever the ticks say

# of those, what a person may still say yes to for one call, having been asked
ASKABLE = (HELD, CHANGED, BLOCKED, NEW)

# kinds of precondition; a declared form that cannot be read is met by no session
AUTHENTICATED, AFTER, MILESTONE, NEVER = "authenticated", "after", "milestone", "never"

_SENTENCES = {
    GONE: "its server no longer lists it",
    OUTSIDE: "its server is not part of this profile",
    DISABLED: "its server is disabled in Toolcrib",
    DROPPED: "its server was switched off or removed for this host in Toolcrib",
    OFF: "it is turned off in this profile",
    PROJECT: "the policy file of the project leaves it out",
    UNTRUSTED: "its server is not trusted yet",
    HELD: "the user holds it back",
    CHANGED: "its text changed after it was trusted",
    BLOCKED: "its text looks like an instruction to the model",
    NEW: "it is new and waits in Review",
    UNCHECKED: "its text is still being checked",
    UNUSABLE: "it cannot be used ({})",
    PRIVATE: "it is not for this user",
    AUTHENTICATED: "not signed in for {}",
    AFTER: "{} was not called yet",
    MILESTONE: "{} is not reached",
    NEVER: "its precondition “{}” cannot be read",
}
_REMEDIES = {
    GONE: "its server listed it again",
    OUTSIDE: "its server were part of this profile",
    DISABLED: "you enabled its server",
    OFF: "you turned it on",
    PROJECT: "the policy file of the project allowed it",
    UNCHECKED: "its text were checked",
    UNUSABLE: "its server repaired it",
    PRIVATE: "it were for this user",
    AUTHENTICATED: "you signed in for {}",
    AFTER: "{} had been called",
    MILESTONE: "{} were reached",
    NEVER: "its precondition were corrected",
}


def sentence(kind: str, detail: str = "") -> str:
    """Sentence of a reason, to follow a colon; "" for no reason.

    `kind` is a reason's, or a precondition's own; `detail` is what its sentence names.
    """
    return _SENTENCES[kind].format(detail) if kind else ""


def remedy(kind: str, detail: str = "") -> str:
    """Change that makes the tool available, in words that follow "if"."""
    return _REMEDIES.get(kind, "you trusted it").format(detail)
