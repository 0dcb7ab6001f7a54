"""Programs for developers: pictures and measurements of the window."""
