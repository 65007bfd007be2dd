"""How the command reaches AWS: sessions, accounts, roles, Regions, and many of them in parallel."""
