"""The one MCP client."""
