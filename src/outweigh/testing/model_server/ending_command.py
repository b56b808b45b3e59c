"""Agents that end only by a command: for them the last words of a script come with that command."""

# The whole of what mini-swe-agent waits for; it takes words without a call for a mistake, and asks again.
_ENDINGS = {"COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}


def ending_command(prompt: str) -> str | None:
    """The command by which an agent with this prompt wants to be told that the work is done."""
    return next((command for sign, command in _ENDINGS.items() if sign in prompt), None)
