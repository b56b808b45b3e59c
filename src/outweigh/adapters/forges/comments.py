"""One comment per mark: the first of ours is brought up to date, doubles of it are removed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """A comment as the forge has it; `ours` where whoever holds the token wrote it."""

    key: int
    body: str
    ours: bool
    url: str


def upsert(
    comments: Sequence[Comment],
    body: str,
    number_of: Callable[[str], int],
    *,
    create: Callable[[str], str],
    update: Callable[[int, str], str],
    delete: Callable[[int], None],
) -> str:
    """The address of the comment that now says `body`, whose first line is its mark.

    Somebody else's comment is never touched, whatever mark it bears. One that a later run has written stays.
    """
    mark = body.partition("\n")[0]
    found = sorted(
        (one for one in comments if one.ours and one.body.partition("\n")[0].strip() == mark), key=lambda one: one.key
    )
    if not found:
        return create(body)
    first, *doubles = found
    for double in doubles:
        delete(double.key)
    if max(map(number_of, (one.body for one in found))) > number_of(body):
        return first.url
    return first.url if first.body.strip() == body.strip() else update(first.key, body)
