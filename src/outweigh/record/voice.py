"""Who speaks when a judge answers: everything about it but the rubric, which belongs to the task."""

from hashlib import sha256

import msgspec

from outweigh.record.judgment import JudgeIdentity
from outweigh.record.stored import Name, Stored


class Voice(Stored, frozen=True):
    """A judge under one name, model, version and prompt. If one of them changes, it is another voice."""

    name: Name
    model: str | None
    version: str | None
    prompt_sha256: str | None

    @property
    def sha256(self) -> str:
        """What it is filed under."""
        return sha256(msgspec.json.encode(self, order="sorted")).hexdigest()


def voice_of(judge: JudgeIdentity) -> Voice:
    """The voice that gave a judgment."""
    return Voice(name=judge.name, model=judge.model, version=judge.version, prompt_sha256=judge.prompt_sha256)
