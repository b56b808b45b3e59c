"""The rules of a store, tied to its records: each names a hash of the rules that it was made under.

That makes an edit of `experiment.json` show. It is no seal against somebody who writes the whole store anew.
"""

from hashlib import sha256
from pathlib import Path

import msgspec

from outweigh.adapters.stores.experiment_file import Experiment, recall_suite


def rules_of_store(folder: Path) -> str | None:
    """What a record that is made for a store names as its rules; None where nobody wrote down what the store is for."""
    experiment = recall_suite(folder)
    return None if experiment is None else rules_sha256(experiment)


def rules_sha256(experiment: Experiment) -> str:
    """A hash of what decides: the policy, the profile, and whether somebody may look before the end."""
    return _hash(experiment, experiment.looked_at)


def fits_rules(experiment: Experiment, named: str) -> bool:
    """Whether a record could have been made under these rules; it may be older than the wish to end at a decision."""
    return named in (_hash(experiment, experiment.looked_at), _hash(experiment, None))


def _hash(experiment: Experiment, looked_at: int | None) -> str:
    """Of what differs from the defaults, so that a later release with one more setting finds the same."""
    policy = experiment.policy
    stated = {
        field.name: value
        for field in msgspec.structs.fields(policy)
        if (value := getattr(policy, field.name)) != _default(field)
    }
    return sha256(msgspec.json.encode((stated, experiment.profile, looked_at), order="sorted")).hexdigest()


def _default(field: msgspec.structs.FieldInfo) -> object:
    return field.default_factory() if field.default is msgspec.NODEFAULT else field.default
