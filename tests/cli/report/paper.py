"""What is on the pages of a PDF that Chromium printed."""

import re
import zlib
from pathlib import Path

_OBJECT = re.compile(rb"(?:^|\n)(\d+) 0 obj\n(.*?)\nendobj", re.DOTALL)
_STREAM = re.compile(rb"stream\r?\n(.*?)\nendstream", re.DOTALL)


def texts_by_page(pdf: Path) -> list[int]:
    """Return how many pieces of text each page shows, such as words, lines and cells."""
    objects = {int(number): body for number, body in _OBJECT.findall(pdf.read_bytes())}
    pages = [body for body in objects.values() if re.search(rb"/Type /Page\b", body)]
    return [sum(_texts(objects[int(number)]) for number in _contents(page)) for page in pages]


def _contents(page: bytes) -> list[bytes]:
    found = re.search(rb"/Contents (?:\[(.*?)\]|(\d+) 0 R)", page)
    assert found, page
    return [found[2]] if found[2] else re.findall(rb"(\d+) 0 R", found[1])


def _texts(stream: bytes) -> int:
    found = _STREAM.search(stream)
    assert found
    return len(re.findall(rb"T[jJ]\b", zlib.decompress(found[1])))
