"""How the command talks to people: the console, tables, files, progress, and errors. It knows no finding."""
