"""The text of a message's content, whatever shape it comes in: a string, or blocks of many kinds."""

from outweigh.transcript.foreign import mapping, sequence, text


def content_text(content: object) -> str:
    """Texts joined by line breaks; what is no text is named in brackets, such as [image]."""
    if isinstance(content, str):
        return content
    return "\n".join(_block_text(mapping(block)) for block in sequence(content))


def _block_text(block: dict[str, object]) -> str:
    found = text(block.get("text"))
    return found if found is not None else f"[{block.get('type') or 'unreadable'}]"
