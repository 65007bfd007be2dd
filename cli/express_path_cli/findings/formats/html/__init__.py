"""Findings as one self-contained HTML page."""
