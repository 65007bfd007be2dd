"""How the command talks to people: the console, tables, files, progress, and errors. Nothing here depends on findings."""
