"""What a suite asks for that nobody could keep to where Harbor makes the runs."""

from collections.abc import Iterator

from outweigh.errors import UsageError
from outweigh.task.suite import GatewaySpec, SandboxSpec, SuiteSpec


def refuse_unheld(spec: SuiteSpec) -> None:
    """Caps, walls and ways to models that would only look as if they were there."""
    if (found := next(_unheld(spec), None)) is not None:
        key, why = found
        raise UsageError(
            f"the suite's {key} cannot be kept to through Harbor: {why} Leave it out, or run without Harbor."
        )


def _unheld(spec: SuiteSpec) -> Iterator[tuple[str, str]]:
    if spec.budget_usd is not None:
        yield "`budget_usd`", "Harbor runs a job to its end and cannot be stopped at an amount."
    for key in ("budget_usd", "tokens"):
        if getattr(spec.limits, key) is not None:
            yield f"`{key}` under [limits]", "agents go to their models without outweigh's gateway."
    usual = SandboxSpec(kind=spec.sandbox.kind)
    for key in SandboxSpec.__struct_fields__:
        if getattr(spec.sandbox, key) != getattr(usual, key):
            yield f"`{key}` under [sandbox]", "tasks and [harbor.environment] say what Harbor's environments are like."
    direct = GatewaySpec(mode=spec.gateway.mode)
    for key in GatewaySpec.__struct_fields__:
        if getattr(spec.gateway, key) != getattr(direct, key):
            yield f"`{key}` under [gateway]", "agents go to their models without outweigh's gateway."
