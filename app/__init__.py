"""Toolcrib's operations; imports no Qt."""
