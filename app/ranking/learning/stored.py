"""How what was learned is stored; past_use.py holds what the bytes mean, and loads numpy."""

BLOB = "past use"
# Of the stored bytes and of how they were trained; what another format holds is not used.
FORMAT = 5
