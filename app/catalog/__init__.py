"""What is known of servers and tools, and which of it a profile uses."""
