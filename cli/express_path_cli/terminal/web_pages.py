"""Web pages that a proxy answers instead of AWS."""

import re

from express_path.errors import ApiError

PROXY_HINT = "a proxy answered instead of AWS: check HTTPS_PROXY and NO_PROXY"


def is_web_page(error: ApiError) -> bool:
    """Return whether AWS's message is HTML, which is what a proxy answers."""
    return re.search(r"<(!doctype )?html", error.message, re.IGNORECASE) is not None


def page_title(page: str) -> str:
    """Return the title of a web page as the end of a sentence; empty if it has none."""
    found = re.search(r"<title[^>]*>(.*?)</title>", page, re.IGNORECASE | re.DOTALL)
    return f', with the title "{found[1].strip()}"' if found else ""
