"""The Hosts page."""
