"""The one way from a raw tool to rows of the store."""
