"""Foundation of all packages: errors, paths, settings, logs."""
