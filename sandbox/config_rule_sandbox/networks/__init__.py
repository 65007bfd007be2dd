"""Networks of several VPCs and accounts, built through the EC2 API: what hops can lead through."""
