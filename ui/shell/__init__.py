"""What joins pages: tasks, services, undo steps, live values."""
