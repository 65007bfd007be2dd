"""The path lab: the same measurement through a NAT and through an endpoint's route, on one machine, without root."""
