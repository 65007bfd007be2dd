"""Instruments that measure the path to a bucket: the command bench, the path lab, and a stack."""
