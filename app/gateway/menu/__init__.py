"""search_tools and call_tool: what a model may call and what it gets back."""
