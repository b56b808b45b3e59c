"""Which sandbox a suite gets; never a weaker one than it asks for."""

from outweigh.errors import UsageError
from outweigh.plugins import load
from outweigh.ports.sandboxes import SandboxProvider


def wanted_sandbox(kind: str) -> str:
    """The name of the provider that a suite asks for; `auto` means bubblewrap."""
    return "bubblewrap" if kind == "auto" else kind


def choose_sandbox(kind: str) -> SandboxProvider:
    """The provider of that kind; one that does not work is not quietly replaced by no walls at all."""
    wanted = wanted_sandbox(kind)
    provider: SandboxProvider = load("sandbox", wanted)
    missing = provider.missing()
    if missing is not None:
        raise UsageError(
            f"the {wanted} sandbox does not work here: {missing} For agents that you trust with your own account, say "
            'kind = "local" under [sandbox].'
        )
    return provider
