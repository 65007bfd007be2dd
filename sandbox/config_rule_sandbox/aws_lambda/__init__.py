"""Lambda: the code of functions, the functions that the sandbox runs, AWS's real runtime, and event sources."""
