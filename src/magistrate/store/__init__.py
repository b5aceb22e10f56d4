"""Where object types, objects and the log of changes are kept, at every retained revision."""
