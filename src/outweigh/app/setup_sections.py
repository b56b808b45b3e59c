"""Cuts an instruction file into the sections that can be left out, each named as `sections` of a suite names them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from outweigh.errors import UsageError
from outweigh.model.markdown_sections import MarkdownSection, SectionKind, find_section, own_spans, split_sections

LONGEST_TITLE, LONGEST_PATH = 80, 500
"""In characters: a bullet is named by how it starts, and `sections` takes no more than so many."""
FEWEST_BULLETS = 2
"""A list of one is part of its section."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSection:
    """A piece of a file. `titles` name it; None where only its text does, because another section has its title too."""

    title: str
    text: str
    titles: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CutInstructions:
    """A file without a gap: `fixed`, which is a title at its start and nothing else, and then every section."""

    fixed: str
    sections: tuple[FoundSection, ...]


def cut_instructions(text: str, *, by_bullet: bool) -> CutInstructions:
    """Cut a file at the highest level of headings that has several; with `by_bullet` at the bullets of its lists, too.

    A section has the sections below its level in it. What is above that level and not only a heading is a section, too.
    """
    known = split_sections(text)
    chosen = _chosen(known, by_bullet=by_bullet)
    if len(chosen) < 2:
        return CutInstructions(fixed="", sections=(FoundSection(title="", text=text, titles=()),))
    pieces = [(section, _own_text(text, section, chosen)) for section in chosen]
    fixed = ""
    if pieces[0][0].kind is SectionKind.HEADING and len(pieces[0][1].strip().splitlines()) == 1 and pieces[1:]:
        fixed = pieces.pop(0)[1] if _is_around(pieces[0][0], chosen) else ""
    return CutInstructions(
        fixed=fixed,
        sections=tuple(_found(section, own, known) for section, own in pieces if own.strip()),
    )


def _chosen(known: Sequence[MarkdownSection], *, by_bullet: bool) -> list[MarkdownSection]:
    """The sections to cut at, in the order of the file."""
    headings = [one for one in known if one.kind is SectionKind.HEADING]
    depths = [len(one.within) for one in headings]
    several = [depth for depth in sorted(set(depths)) if depths.count(depth) > 1]
    depth = several[0] if several else max(depths, default=0)
    cut = [one for one in known if one.kind is SectionKind.START or (one in headings and len(one.within) <= depth)]
    if by_bullet:
        cut += [bullet for section in list(cut) for bullet in _own_bullets(section, cut, known)]
    return sorted(cut, key=lambda one: (one.start, -one.end))


def _own_bullets(
    section: MarkdownSection, cut: Sequence[MarkdownSection], known: Sequence[MarkdownSection]
) -> Iterator[MarkdownSection]:
    """The top bullets of a section that are in no other one that is cut, where there are several."""
    inner = [one for one in cut if section.holds(one)]
    bullets = [
        one
        for one in known
        if one.kind is SectionKind.BULLET and section.holds(one) and not any(other.holds(one) for other in inner)
    ]
    top = [one for one in bullets if not any(other.holds(one) for other in bullets)]
    if len(top) >= FEWEST_BULLETS:
        yield from top


def _is_around(section: MarkdownSection, chosen: Sequence[MarkdownSection]) -> bool:
    return any(section.holds(one) for one in chosen)


def _own_text(text: str, section: MarkdownSection, chosen: Sequence[MarkdownSection]) -> str:
    return "".join(text[start:end] for start, end in own_spans(section, chosen))


def _found(section: MarkdownSection, own: str, known: Sequence[MarkdownSection]) -> FoundSection:
    """Named by its title, or by how it starts, where that is enough; else by its path, else by its text."""
    starts = section.title[:LONGEST_TITLE].rstrip()
    for title in (starts, section.path[:LONGEST_PATH]):
        try:
            if find_section(known, title, "") == section:
                return FoundSection(title=section.title, text=own, titles=(title,))
        except UsageError:
            continue
    return FoundSection(title=section.title, text=own, titles=None)
