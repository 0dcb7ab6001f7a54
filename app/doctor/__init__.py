"""Checks of this machine and of Toolcrib's own files, for the user and for an issue report."""
