"""Where traffic goes: which route wins, how each kind of hop is followed, and where the path ends."""
