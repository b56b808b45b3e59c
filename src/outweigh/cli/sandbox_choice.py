"""Which sandbox a suite gets; never a weaker one than it asks for."""

from outweigh.errors import UsageError
from outweigh.plugins import load
from outweigh.ports import SandboxProvider


def choose_sandbox(kind: str) -> SandboxProvider:
    """The provider of that kind; `auto` means bubblewrap, and is not quietly replaced by no walls at all."""
    wanted = "bubblewrap" if kind == "auto" else kind
    provider: SandboxProvider = load("sandbox", wanted)
    missing = provider.missing()
    if missing is not None:
        raise UsageError(
            f"the {wanted} sandbox does not work here: {missing} For agents that you trust with your own account, say "
            'kind = "local" under [sandbox].'
        )
    return provider
