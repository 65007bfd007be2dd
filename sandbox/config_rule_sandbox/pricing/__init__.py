"""The Price List Query API, which moto lacks."""
