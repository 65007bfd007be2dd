"""Talk to AWS, and read and write the records of foreign formats."""
