"""What each tool costs, per host style."""
