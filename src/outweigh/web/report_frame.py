"""The report of a store as a page of the viewer: the file that `outweigh report` writes, with a way back on top.

The file has its style inline. The policy of the page allows just these styles, by their hashes, and no script.
"""

import re
from base64 import b64encode
from hashlib import sha256

from outweigh.web.catalogue import ViewedStore
from outweigh.web.markup import Html, element, link
from outweigh.web.pages.layout import store_link

_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_BODY = re.compile(r"<body[^>]*>\n?")


def frame_report(page: str, store: ViewedStore) -> Html:
    """The report with a line of links above it."""
    trail = element("p", link("outweigh", "/"), " › ", store_link(store), " › report")
    # Only the first tag can be the body's: everything from records is escaped.
    return Html(_BODY.sub(lambda found: f'{found[0]}<nav aria-label="Breadcrumb">{trail}</nav>\n', page, count=1))


def report_policy(page: str) -> str:
    """A policy under which nothing but the report's own styles applies."""
    digests = (sha256(style.encode()).digest() for style in _STYLE.findall(page))
    hashes = " ".join(f"'sha256-{b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; style-src {hashes}; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
