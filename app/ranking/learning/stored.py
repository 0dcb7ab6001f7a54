"""Stored form of past use; past_use.py holds the meaning of the bytes, and loads numpy."""

BLOB = "past use"
# Of the stored bytes and of how they were trained; what another format holds is not used.
FORMAT = 5
