"""What an agent is asked."""

from outweigh.ports.agents import AttemptRequest


def prompt(request: AttemptRequest) -> str:
    """The task's words, and the arm's after them."""
    extra = request.arm.extra_prompt
    return request.task.instruction if extra is None else f"{request.task.instruction.rstrip()}\n\n{extra}"
