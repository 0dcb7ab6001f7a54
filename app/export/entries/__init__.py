"""Single servers in a host's file: edited, renamed, switched off, removed there."""
