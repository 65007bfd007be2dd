"""One comment on a pull request, kept up to date."""
