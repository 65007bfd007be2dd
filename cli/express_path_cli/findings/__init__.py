"""What a scan found: reading, selecting, grouping, comparing, and writing it in each format."""
