"""How requests reach moto: the server, what is in front of it, and requests of this process without a socket."""
