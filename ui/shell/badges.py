"""Badge of each state: the one table of them.

Keys are the words that the states have in the store, in app or in a table of the window; a test
holds that each of their states is a key here. A state without a badge is the normal one.
"""

from collections.abc import Mapping
from dataclasses import replace

from ui.widgets.roles import BadgeText

_STOP = "close-octagon"
BADGES: Mapping[str, BadgeText] = {
    # state of a server's reading (store.records)
    "configured": BadgeText("Not read yet", "neutral", "progress-clock"),
    "waiting": BadgeText("Waiting", "neutral", "progress-clock"),
    "reading": BadgeText("Reading", "accent", "progress-clock"),
    "read": BadgeText("Read", "passed", "check-circle"),
    "needs sign-in": BadgeText("Needs sign-in", "warn", "key-outline"),
    "could not start": BadgeText("Could not start", "block", _STOP, solid=True),
    "took too long": BadgeText("Took too long", "warn", "clock-outline"),
    "stopped": BadgeText("Stopped", "neutral", "stop-circle-outline"),
    # what the consent table says before a reading
    "cannot be started": BadgeText("Cannot be started", "warn", "alert"),
    "ticked": BadgeText("Will be read", "neutral", "circle-outline"),
    "not ticked": BadgeText("Not ticked", "neutral", "minus-circle-outline"),
    # a tool, a server
    "unusable": BadgeText("Unusable", "block", _STOP, solid=True),
    "held": BadgeText("Held back", "block", "lock-outline", solid=True),
    "some held": BadgeText("Some held back", "warn", "lock-outline"),
    "problems": BadgeText("Problems", "warn", "alert"),
    "text to review": BadgeText("Text to review", "warn", "shield-alert-outline"),
    "named twice": BadgeText("Named twice", "warn", "alert"),
    "pinned": BadgeText("Pinned", "accent", "pin"),
    "destructive": BadgeText("Destructive", "neutral", "alert"),
    "read-only": BadgeText("Read-only", "neutral", "eye-outline"),
    "disabled": BadgeText("Disabled", "neutral", "server-off"),
    "not trusted": BadgeText("Not trusted", "warn", "shield-alert-outline"),
    # a budget's verdict (app.policy.budget)
    "PASS": BadgeText("PASS", "passed", "check-circle"),
    "WARN": BadgeText("WARN", "warn", "alert"),
    "BLOCK": BadgeText("BLOCK", "block", _STOP, solid=True),
    # a finding's severity, and what was decided (app.safety.review)
    "block": BadgeText("Block", "block", _STOP, solid=True),
    "warn": BadgeText("Warn", "warn", "alert"),
    "approved": BadgeText("Approved", "passed", "check-circle-outline"),
    "kept": BadgeText("Held", "neutral", "lock-outline"),
    "off": BadgeText("Off", "neutral", "minus-circle-outline"),
    # a host (app.host_status.status, app.host_status.drift)
    "changes": BadgeText("Changes to export", "warn", "alert"),
    "changed outside": BadgeText("Changed outside", "warn", "alert"),
    "endpoint off": BadgeText("HTTP endpoint off", "warn", "alert"),
    "not readable": BadgeText("Not readable", "block", _STOP, solid=True),
    "not found": BadgeText("Not found", "neutral", "minus-circle-outline"),
    # a project's policy file (app.policy.project_policy)
    "policy trusted": BadgeText("Trusted", "passed", "check-circle"),
    "policy not trusted": BadgeText("Not yet trusted", "warn", "shield-alert-outline"),
    "policy changed since it was trusted": BadgeText("Changed", "warn", "alert"),
    "policy cannot be used": BadgeText("Cannot be used", "block", _STOP, solid=True),
    # a candidate of a query
    "In": BadgeText("In", "passed", "check-circle"),
    "Out": BadgeText("Out", "neutral", "minus-circle-outline"),
    "Held": BadgeText("Held", "block", _STOP, solid=True),
    # a labelled query
    "Passed": BadgeText("Passed", "passed", "check-circle"),
    "Fixed": BadgeText("Fixed", "passed", "check-circle"),
    "Failing": BadgeText("Failing", "warn", "alert"),
    "Still failing": BadgeText("Still failing", "warn", "alert"),
    "Regressed": BadgeText("Regressed", "block", _STOP, solid=True),
    "New": BadgeText("New", "accent", "plus"),
    # a query set, two runs
    "few queries": BadgeText("Too few queries", "warn", "alert"),
    "other tools": BadgeText("Tools differ between these runs", "warn", "alert"),
    # what became of a suggestion (app.hooks.usage)
    "hit": BadgeText("Called", "passed", "check-circle"),
    "other": BadgeText("Another called", "warn", "alert"),
    "none": BadgeText("None called", "neutral", "minus-circle-outline"),
    "unseen": BadgeText("Not seen", "neutral", "minus-circle-outline"),
    "silent": BadgeText("Silent", "neutral", "minus-circle-outline"),
    "missed": BadgeText("Missed", "warn", "alert"),
    # an event that went wrong
    "miss": BadgeText("Miss", "warn", "alert"),
    "data_out": BadgeText("Data out", "warn", "alert"),
    "labelled": BadgeText("Labelled", "warn", "alert"),
    "failed": BadgeText("Failed", "block", _STOP),
}


def badge(state: str, word: str = "") -> BadgeText:
    """A state's badge, with another word where the state alone says too little."""
    look = BADGES.get(state) or BadgeText(state)
    return replace(look, word=word) if word else look
