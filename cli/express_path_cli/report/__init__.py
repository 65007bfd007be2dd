"""The report: one HTML file, built from the files of the page in this directory."""
