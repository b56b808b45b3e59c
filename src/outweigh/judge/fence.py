"""Fences around what is not ours: between two lines with a code that nobody could know, all is material."""

from outweigh.judge.plain_text import spelled_out

TORN_FENCE = "[code]"


def fenced(title: str, text: str, code: str) -> str:
    """The text between a BEGIN and an END line. The code is drawn anew for every question, after the text was written.

    Should the text hold the code all the same, it is taken out: no text can end its own fence.
    """
    inside = spelled_out(text).replace(code, TORN_FENCE).strip("\n")
    return f"BEGIN {code} {title}\n{inside}\nEND {code} {title}"
