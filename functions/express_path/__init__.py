"""By which path does each subnet reach S3 Express One Zone: decide it, report it."""
