"""The express-path command."""
