"""express-path policies: which policy statements would deny requests once a subnet uses the endpoint."""
