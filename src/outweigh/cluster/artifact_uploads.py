"""How a host brings large artifacts to the place that it shares with its lead, before their records are offered.

It does so beside everything else: attempts, exchanges and the lease do not wait. What cannot be put there travels over
the connection, as all artifacts do without such a place.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import msgspec

from outweigh.cluster.messages import AttemptKey, OfferedRecord
from outweigh.cluster.shared_artifacts import SharedArtifacts, open_place
from outweigh.cluster.spool import ExperimentSpool
from outweigh.errors import OutweighError

MOST_UPLOADS = 4
"""So many files are put at the same time."""


class ArtifactUploads:
    """The uploads of one experiment. All but the threads of its own is called with the lock of the host held.

    `on_done` is called by a thread when an offer has changed, and `is_wanted` says whether the lead still wants an
    attempt.
    """

    def __init__(
        self,
        place: str,
        experiment: str,
        spool: ExperimentSpool,
        is_wanted: Callable[[AttemptKey], bool],
        on_done: Callable[[], None],
    ) -> None:
        self.place = place
        self.fault: str | None = None
        self._experiment = experiment
        self._shared: SharedArtifacts | None = None
        self._spool = spool
        self._is_wanted = is_wanted
        self._on_done = on_done
        self._pending: set[AttemptKey] = set()
        self._put: dict[AttemptKey, dict[str, int]] = {}
        self._threads = ThreadPoolExecutor(MOST_UPLOADS, thread_name_prefix="artifacts")

    @property
    def pending(self) -> frozenset[AttemptKey]:
        """Attempts whose artifacts are on their way."""
        return frozenset(self._pending)

    def with_shared(self, offer: OfferedRecord) -> OfferedRecord | None:
        """The offer as the lead is to get it; None while its artifacts are on their way, which this begins."""
        if offer.key in self._pending:
            return None
        if offer.large and offer.key not in self._put:
            self._pending.add(offer.key)
            self._threads.submit(self._upload, offer)
            return None
        put = self._put.get(offer.key, {})
        large = {digest: size for digest, size in offer.large.items() if digest not in put}
        return msgspec.structs.replace(offer, large=large, shared=dict(put))

    def forget(self, key: AttemptKey) -> None:
        """The lead has the record, and removes what it fetched."""
        self._put.pop(key, None)

    def close(self) -> None:
        """Wait for what is being put; it is removed again."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _upload(self, offer: OfferedRecord) -> None:
        put: dict[str, int] = {}
        fault = None
        try:
            shared = self._shared = self._shared or SharedArtifacts(open_place(self.place), self._experiment)
            for digest, size in offer.large.items():
                if (path := self._spool.path_of(offer.key, digest)) is not None:
                    shared.put(offer.key, digest, path)
                    put[digest] = size
            if not self._is_wanted(offer.key):
                shared.remove(offer.key, put)
        except OutweighError as error:
            fault = str(error)
        except Exception as error:  # the record would wait for ever
            fault = f"{type(error).__name__}: {error}"
        if fault is not None:
            self.fault = f"large artifacts go over the connection, because they cannot be put to {self.place}: {fault}"
        self._put[offer.key] = put
        self._pending.discard(offer.key)
        self._on_done()
