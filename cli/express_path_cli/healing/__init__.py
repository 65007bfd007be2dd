"""Heal several route tables with one command: which ones, with which plan, and in which order."""
