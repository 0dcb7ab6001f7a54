"""Sample data and small real MCP servers for a first look without any host."""
