"""What is known of each host, and reading its config files."""
