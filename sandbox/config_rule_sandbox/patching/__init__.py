"""How moto is changed while a sandbox runs, and what the changes share."""
