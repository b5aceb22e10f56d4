"""The HTTP surface: a table of routes, and one file of handlers and bodies a noun. Nothing here decides anything."""
