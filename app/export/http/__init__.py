"""Hosts written as a URL of the HTTP endpoint: what forbids it, and what to know."""
