"""The command line: thin verbs over app."""
