"""Tables of pages that benchmarks write."""


def with_table(text: str, name: str, table: str) -> str:
    """Return a page with another table between the comment with its name and the next `<!-- end -->`."""
    start = text.index(f"<!-- {name} -->\n") + len(f"<!-- {name} -->\n")
    return f"{text[:start]}\n{table}\n\n{text[text.index('<!-- end -->', start) :]}"
