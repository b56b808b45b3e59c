from dataclasses import replace
from typing import Any

import pytest
from tests.engine.model_calls import a_call, a_failed_call, an_account, tokens

from outweigh.engine.finish import apply_metering
from outweigh.model.failure import FailureKind, Status
from outweigh.model.run_record import AgentIdentity, AgentKind
from outweigh.model.usage import (
    NO_USAGE,
    UNKNOWN_COST,
    Component,
    ComponentTokens,
    CostProvenance,
    UsageRange,
    reported_cost,
)
from outweigh.ports.agents import AttemptOutcome, build_outcome
from outweigh.ports.gateways import EstimatedUsage

WHO = AgentIdentity(kind=AgentKind.REAL, name="agent", version="1", model="model-1")


def said(status: Status = Status.COMPLETED, **known: Any) -> AttemptOutcome:
    return build_outcome(WHO, status, None, **known)


class TestFigures:
    def test_the_sum_over_all_requests_replaces_what_the_agent_counted(self) -> None:
        account = an_account(a_call(usage=tokens(100, 10, 5, 7)), a_call(usage=tokens(30, 3)))

        found = apply_metering(said(usage=tokens(100, 10, 5, 7), request_count=1), account)

        assert found.outcome.usage == tokens(130, 13, 5, 7)
        assert found.reported.usage == tokens(100, 10, 5, 7)
        assert found.outcome.warnings == (
            "the agent reports 100 input tokens against 130 and 10 output tokens against 13 metered "
            "(it counts 1 of 2 requests); the metered figures are used",
        )

    def test_agreement_needs_no_warning(self) -> None:
        assert apply_metering(said(usage=tokens(100, 10), request_count=1), an_account(a_call())).outcome.warnings == ()

    def test_an_agent_that_says_nothing_is_not_contradicted(self) -> None:
        assert apply_metering(said(), an_account(a_call())).outcome.warnings == ()

    def test_dollars_are_the_metered_tokens_at_list_prices_and_never_the_agents(self) -> None:
        found = apply_metering(said(cost=reported_cost(9.0)), an_account(a_call(), a_call(cost_usd=0.02)))

        assert found.outcome.cost.usd == pytest.approx(0.03)
        assert (found.outcome.cost.provenance, found.outcome.cost.price_table) == (CostProvenance.METERED, "list@1")
        assert found.reported.cost_usd == 9.0

    @pytest.mark.parametrize("known", [{"usage": tokens(900, 50)}, {"cost": reported_cost(9.0)}])
    def test_an_agent_that_used_a_model_without_the_gateway_has_unknown_figures_not_zeros(
        self, known: dict[str, Any]
    ) -> None:
        found = apply_metering(said(**known), an_account())

        assert found.outcome.usage == tokens(None, None, None, None)
        assert found.outcome.cost == UNKNOWN_COST
        assert found.outcome.warnings == (
            "the agent reports use of a model, and no request came through the gateway; tokens and cost are unknown",
        )

    @pytest.mark.parametrize(
        ("known", "words"),
        [
            ({"usage": tokens(90, 10, 11)}, "101 tokens of prompts where 100 came through the gateway"),
            ({"usage": tokens(100, 11)}, "11 output tokens where 10 came through the gateway"),
            ({"usage": tokens(None, None, None, None), "request_count": 2}, "2 requests where 1 came through the"),
        ],
    )
    def test_an_agent_that_used_a_model_partly_without_the_gateway_has_unknown_figures_too(
        self, known: dict[str, Any], words: str
    ) -> None:
        found = apply_metering(said(**known), an_account(a_call()))

        assert found.outcome.usage == tokens(None, None, None, None)
        assert found.outcome.cost == UNKNOWN_COST
        assert [words in warning for warning in found.outcome.warnings] == [True]
        assert found.metering.models == {"model-1": tokens(100, 10)}

    def test_cached_tokens_reported_as_fresh_ones_are_not_taken_for_unmetered_use(self) -> None:
        found = apply_metering(said(usage=tokens(100, 10)), an_account(a_call(usage=tokens(20, 10, 80))))

        assert found.outcome.usage == tokens(20, 10, 80)

    def test_an_agent_that_asked_no_model_used_no_tokens(self) -> None:
        found = apply_metering(said(usage=tokens(0, 0)), an_account())

        assert (found.outcome.usage, found.outcome.cost.usd) == (tokens(0, 0), 0.0)
        assert found.outcome.warnings == ()

    def test_one_request_without_a_price_makes_the_cost_unknown(self) -> None:
        found = apply_metering(said(cost=reported_cost(9.0)), an_account(a_call(), a_call(cost_usd=None)))

        assert found.outcome.cost == UNKNOWN_COST

    def test_an_answer_that_broke_off_makes_its_part_unknown_and_says_so(self) -> None:
        cut = a_failed_call(FailureKind.CUT_STREAM, 200, usage=tokens(100, None))

        found = apply_metering(said(), an_account(a_call(), cut, a_call()))

        assert found.outcome.usage == tokens(300, None)
        assert found.outcome.cost == UNKNOWN_COST
        assert (
            "1 answer came without a final count of tokens, so the run's tokens are unknown" in found.outcome.warnings
        )

    def test_an_answer_without_a_final_count_is_estimated_and_says_so(self) -> None:
        estimate = EstimatedUsage(
            low=tokens(0, 5, 90),
            likely=tokens(100, 20),
            high=tokens(110, 500),
            low_usd=0.001,
            likely_usd=0.02,
            high_usd=0.5,
        )
        cut = a_failed_call(FailureKind.CUT_STREAM, 200, model="model-1", estimate=estimate)

        found = apply_metering(said(), an_account(a_call(), cut))

        assert found.outcome.usage == tokens(200, 30)
        assert found.metering.models == {"model-1": tokens(200, 30)}
        assert found.metering.estimated == {
            "model-1": UsageRange(requests=1, low=tokens(100, 15, 90), high=tokens(210, 510))
        }
        cost = found.outcome.cost
        assert [cost.low_usd, cost.usd, cost.high_usd] == pytest.approx([0.011, 0.03, 0.51])
        assert found.outcome.warnings == (
            "1 answer came without a final count of tokens, so the run's tokens are estimated: 205 to 720",
        )

    def test_an_agent_that_reports_no_more_than_an_estimate_allows_did_not_go_around_the_gateway(self) -> None:
        estimate = EstimatedUsage(
            low=tokens(0, 0), likely=tokens(100, 20), high=tokens(110, 500), low_usd=0.0, likely_usd=0.0, high_usd=0.0
        )
        cut = a_failed_call(FailureKind.CUT_STREAM, 200, estimate=estimate)

        within = apply_metering(said(usage=tokens(110, 500)), an_account(cut))
        beyond = apply_metering(said(usage=tokens(110, 501)), an_account(cut))

        assert within.outcome.usage == tokens(100, 20)
        assert beyond.outcome.usage == NO_USAGE

    def test_an_estimate_without_a_price_leaves_the_cost_unknown_and_the_tokens_known(self) -> None:
        estimate = EstimatedUsage(
            low=tokens(0, 0), likely=tokens(1, 2), high=tokens(3, 4), low_usd=None, likely_usd=None, high_usd=None
        )

        found = apply_metering(said(), an_account(a_failed_call(FailureKind.CUT_STREAM, 200, estimate=estimate)))

        assert (found.outcome.usage, found.outcome.cost) == (tokens(1, 2), UNKNOWN_COST)

    def test_errors_cost_nothing(self) -> None:
        account = an_account(
            a_failed_call(FailureKind.RATE_LIMITED, 429),
            a_failed_call(FailureKind.CONNECTION_REFUSED, None),
            a_call(started_at_seconds=1.0),
        )

        found = apply_metering(said(), account)

        assert (found.outcome.usage, found.outcome.cost.usd) == (tokens(100, 10), 0.01)
        assert (found.metering.requests, found.metering.failed_requests) == (3, 2)

    def test_every_model_keeps_its_own_tokens(self) -> None:
        account = an_account(
            a_call(), a_call(model="small", usage=tokens(1, 1)), a_call(model=None, requested_model="x")
        )

        assert apply_metering(said(), account).metering.models == {
            "model-1": tokens(100, 10),
            "small": tokens(1, 1),
            "x": tokens(100, 10),
        }

    def test_waiting_is_the_median_over_requests_and_model_time_the_sum(self) -> None:
        account = an_account(*(a_call(time_to_first_token_seconds=wait) for wait in (0.1, 0.2, 9.0, None)))

        metering = apply_metering(said(), account).metering

        assert (metering.time_to_first_token_seconds, metering.model_seconds) == (0.2, 8.0)

    def test_components_are_summed_over_requests(self) -> None:
        line = ComponentTokens(component=Component.TOOL_SCHEMA, input_tokens=60, output_tokens=1)

        found = apply_metering(said(), an_account(a_call(components=(line,)), a_call(components=(line,))))

        assert found.outcome.components == (
            ComponentTokens(component=Component.TOOL_SCHEMA, input_tokens=120, output_tokens=2),
        )

    def test_a_run_that_asked_nothing_used_nothing(self) -> None:
        found = apply_metering(said(Status.AGENT_ERROR), an_account())

        assert (found.outcome.usage, found.outcome.cost.usd, found.metering.requests) == (tokens(0, 0), 0.0, 0)


class TestStatus:
    def test_requests_that_the_gateway_does_not_serve_are_reported_with_a_failure_and_not_with_a_success(self) -> None:
        account = an_account(a_call(), unserved=("POST /v1/embeddings",))

        failed, done = (
            apply_metering(said(status), account).outcome for status in (Status.AGENT_ERROR, Status.COMPLETED)
        )

        assert failed.warnings == ("the agent asked for what the gateway does not serve: 'POST /v1/embeddings'",)
        assert done.warnings == ()

    @pytest.mark.parametrize("status", [Status.COMPLETED, Status.AGENT_ERROR, Status.TIMEOUT])
    def test_a_cap_that_was_reached_is_what_the_run_ended_by(self, status: Status) -> None:
        account = an_account(a_call(), a_failed_call(FailureKind.BUDGET_REACHED, 400), a_call())

        assert apply_metering(said(status), account).outcome.status is Status.BUDGET_EXCEEDED

    @pytest.mark.parametrize("status", [Status.AGENT_ERROR, Status.INFRA_ERROR])
    @pytest.mark.parametrize(
        "kind",
        [
            FailureKind.CONNECTION_REFUSED,
            FailureKind.CUT_STREAM,
            FailureKind.OVERLOADED,
            FailureKind.RATE_LIMITED,
            FailureKind.SERVER_ERROR,
        ],
    )
    def test_a_provider_that_failed_last_is_no_fault_of_the_arm(self, status: Status, kind: FailureKind) -> None:
        last = a_failed_call(kind, started_at_seconds=5.0, retry_after_seconds=7.0)

        found = apply_metering(said(status), an_account(a_call(), last)).outcome

        assert (found.status, found.retry_after_seconds) == (Status.INFRA_ERROR, 7.0)
        assert found.status_detail == f"{kind.value}: so it goes"

    @pytest.mark.parametrize("kind", [kind for kind in FailureKind if kind.status is Status.INFRA_ERROR])
    def test_an_agent_that_ended_well_is_judged_by_its_work_whatever_failed_last(self, kind: FailureKind) -> None:
        last = a_failed_call(kind, started_at_seconds=5.0)

        assert apply_metering(said(), an_account(a_call(), last)).outcome.status is Status.COMPLETED

    @pytest.mark.parametrize("status", [Status.COMPLETED, Status.AGENT_ERROR, Status.INFRA_ERROR, Status.TIMEOUT])
    @pytest.mark.parametrize("kind", [FailureKind.UNKNOWN_MODEL, FailureKind.UNAUTHORIZED])
    def test_a_model_that_the_agent_may_not_ask_excuses_nothing_once_another_has_answered(
        self, status: Status, kind: FailureKind
    ) -> None:
        last = a_failed_call(kind, 404, started_at_seconds=5.0)

        found = apply_metering(said(status), an_account(a_call(), last)).outcome

        assert found.status is (Status.AGENT_ERROR if status is Status.INFRA_ERROR else status)

    @pytest.mark.parametrize("kind", [FailureKind.UNKNOWN_MODEL, FailureKind.UNAUTHORIZED])
    def test_a_wrong_key_or_model_name_on_which_the_agent_itself_ended_is_the_suites(self, kind: FailureKind) -> None:
        account = an_account(a_failed_call(kind, 404))

        assert apply_metering(said(Status.INFRA_ERROR), account).outcome.status is Status.INFRA_ERROR
        assert apply_metering(said(Status.AGENT_ERROR), account).outcome.status is Status.AGENT_ERROR
        assert apply_metering(said(Status.COMPLETED), account).outcome.status is Status.COMPLETED

    def test_a_provider_that_never_answered_excuses_an_agent_that_ended_well_all_the_same(self) -> None:
        account = an_account(a_failed_call(FailureKind.CONNECTION_REFUSED, None))

        assert apply_metering(said(), account).outcome.status is Status.INFRA_ERROR

    @pytest.mark.parametrize(("requests", "status"), [(100, Status.INFRA_ERROR), (101, Status.AGENT_ERROR)])
    def test_a_rate_limit_that_the_run_itself_brought_about_excuses_nothing(
        self, requests: int, status: Status
    ) -> None:
        flood = [a_call(started_at_seconds=number / 10) for number in range(1, requests)]
        last = a_failed_call(FailureKind.RATE_LIMITED, 429, started_at_seconds=20.0)

        assert apply_metering(said(Status.AGENT_ERROR), an_account(*flood, last)).outcome.status is status

    def test_a_failure_of_the_infrastructure_that_the_gateway_did_not_see_is_the_agents(self) -> None:
        found = apply_metering(
            replace(said(Status.INFRA_ERROR), status_detail="HTTP 529"), an_account(a_call())
        ).outcome

        assert found.status is Status.AGENT_ERROR
        assert found.status_detail == (
            "the agent reports a failure of the infrastructure that nothing else confirms: HTTP 529"
        )

    def test_an_agent_that_never_began_is_believed(self) -> None:
        assert apply_metering(said(Status.INFRA_ERROR), an_account()).outcome.status is Status.INFRA_ERROR

    def test_a_failed_request_that_was_followed_by_a_good_one_does_not_count(self) -> None:
        account = an_account(a_failed_call(FailureKind.SERVER_ERROR), a_call(started_at_seconds=1.0))

        assert apply_metering(said(), account).outcome.status is Status.COMPLETED

    def test_a_failed_side_request_at_the_end_changes_nothing(self) -> None:
        side = a_failed_call(FailureKind.SERVER_ERROR, started_at_seconds=9.0, tools=())

        assert apply_metering(said(), an_account(a_call(), side)).outcome.status is Status.COMPLETED

    def test_a_bad_request_stays_the_fault_of_the_agent(self) -> None:
        overflow = a_failed_call(FailureKind.CONTEXT_OVERFLOW, 400, started_at_seconds=1.0)

        assert (
            apply_metering(said(Status.AGENT_ERROR), an_account(a_call(), overflow)).outcome.status
            is Status.AGENT_ERROR
        )

    def test_a_timeout_is_excused_only_if_no_model_ever_answered(self) -> None:
        failed = a_failed_call(FailureKind.RATE_LIMITED, 429, started_at_seconds=5.0)

        assert apply_metering(said(Status.TIMEOUT), an_account(failed)).outcome.status is Status.INFRA_ERROR
        assert apply_metering(said(Status.TIMEOUT), an_account(a_call(), failed)).outcome.status is Status.TIMEOUT

    def test_a_pause_that_the_agent_reported_is_kept(self) -> None:
        asked = replace(said(Status.INFRA_ERROR), retry_after_seconds=3.0)

        assert apply_metering(asked, an_account(a_call())).outcome.retry_after_seconds == 3.0
