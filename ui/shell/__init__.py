"""Parts shared by pages: tasks, services, undo steps, live values."""
