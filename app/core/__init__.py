"""What everything in Toolcrib stands on: errors, paths, settings, logs."""
