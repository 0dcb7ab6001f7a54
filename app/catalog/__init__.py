"""Servers and tools as a profile sees them: availability, conditions, menu tools."""
