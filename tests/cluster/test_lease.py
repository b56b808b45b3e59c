"""Claims about the time for which a host may go on without its lead."""

from tests.cluster.cluster_in_process import StepClock

from outweigh.cluster.lease import Lease, LeaseSignal


def test_a_lease_runs_from_the_clock_that_the_lead_sends_back_and_not_from_its_arrival() -> None:
    clock = StepClock()
    lease = Lease(clock)
    clock.now = 106.0

    lease.renew(echo=100.0, seconds=10.0)

    clock.now = 110.0
    assert lease.holds
    clock.now = 110.1
    assert lease.has_lapsed


def test_a_host_that_no_lead_knows_has_neither_a_lease_nor_one_that_ran_out() -> None:
    lease = Lease(StepClock())

    assert not lease.holds
    assert not lease.has_lapsed


def test_an_older_echo_does_not_shorten_a_lease() -> None:
    clock = StepClock()
    lease = Lease(clock)
    lease.renew(echo=100.0, seconds=10.0)

    lease.renew(echo=95.0, seconds=10.0)

    clock.now = 109.0
    assert lease.holds


def test_a_start_is_refused_when_its_echo_is_older_than_half_a_lease() -> None:
    clock = StepClock()
    lease = Lease(clock)

    clock.now = 105.0
    assert lease.may_start(echo=100.0, seconds=10.0)
    clock.now = 105.1
    assert not lease.may_start(echo=100.0, seconds=10.0)


def test_an_attempt_is_to_end_as_soon_as_the_lease_has_run_out_and_stays_so_when_it_is_renewed() -> None:
    clock = StepClock()
    lease = Lease(clock)
    lease.renew(echo=100.0, seconds=10.0)
    signal = LeaseSignal(lease)
    assert not signal.is_set()
    assert not signal.wait(0.0)

    clock.now = 111.0
    assert signal.is_set()

    lease.renew(echo=111.0, seconds=10.0)
    assert signal.is_set()
    assert signal.wait()


def test_the_end_of_a_lease_ends_an_agent_and_does_not_cancel_its_attempt() -> None:
    clock = StepClock()
    lease = Lease(clock)
    lease.renew(echo=100.0, seconds=10.0)
    lapsed, cancelled = LeaseSignal(lease), LeaseSignal(lease)
    cancelled.set()

    clock.now = 111.0

    assert (lapsed.is_set(), lapsed.cancelled.is_set()) == (True, False)
    assert (cancelled.is_set(), cancelled.cancelled.is_set()) == (True, True)
