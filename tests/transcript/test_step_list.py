from outweigh.transcript.atif import AtifMetrics
from outweigh.transcript.trajectory_builder import TrajectoryBuilder


def test_what_an_agent_says_and_calls_is_one_step_until_it_is_closed() -> None:
    steps = TrajectoryBuilder()
    steps.add("user", "Do it")
    steps.think("Hm. ")
    steps.say("I ")
    steps.say("will.")
    steps.call("c1", "bash", {"command": "ls"})
    steps.close()
    steps.say("Done.")
    first, second, third = steps.steps()
    assert (first.step_id, first.source, first.message) == (1, "user", "Do it")
    assert (second.message, second.reasoning_content) == ("I will.", "Hm. ")
    assert second.tool_calls is not None
    assert second.tool_calls[0].function_name == "bash"
    assert third.message == "Done."
    assert (steps.agent_step_count, steps.tool_call_count, steps.final_text) == (2, 1, "Done.")


def test_a_result_belongs_to_the_step_that_called_and_the_first_one_counts() -> None:
    steps = TrajectoryBuilder()
    steps.call("c1", "bash", {})
    steps.close()
    steps.say("Meanwhile")
    steps.result("c1", "late", is_error=False)
    steps.result("c1", "again", is_error=True)
    observation = steps.steps()[0].observation
    assert observation is not None
    assert [(result.content, result.extra) for result in observation.results] == [("late", {"is_error": False})]


def test_a_call_that_is_told_twice_is_one_call_with_what_was_said_last() -> None:
    steps = TrajectoryBuilder()
    steps.call("c1", "bash", {})
    steps.close()
    steps.call("c1", "bash", {"command": "ls"})
    only = steps.steps()[0]
    assert only.tool_calls is not None
    assert [call.arguments for call in only.tool_calls] == [{"command": "ls"}]
    assert steps.agent_step_count == 1


def test_an_answer_to_no_known_call_is_kept_without_a_call() -> None:
    steps = TrajectoryBuilder()
    steps.result("ghost", "boo", is_error=None)
    observation = steps.steps()[0].observation
    assert observation is not None
    assert (observation.results[0].source_call_id, observation.results[0].extra) == (None, None)


def test_a_note_goes_to_the_agents_last_step() -> None:
    steps = TrajectoryBuilder()
    steps.note(model="nobody")
    steps.say("Hi")
    steps.add("user", "Hello")
    steps.note(model="m", metrics=AtifMetrics(prompt_tokens=5), sub_agent="c1")
    assert steps.steps()[0].model_name == "m"
    assert steps.steps()[0].metrics == AtifMetrics(prompt_tokens=5)
    assert steps.steps()[0].extra == {"sub_agent": "c1"}


def test_texts_beyond_the_limit_are_dropped_and_told() -> None:
    steps = TrajectoryBuilder(text_limit=5)
    steps.say("12345")
    steps.close()
    steps.say("6")
    assert [step.message for step in steps.steps()] == ["12345", ""]
    assert steps.warnings() == ("the trajectory is too long to be kept whole: later texts are dropped",)
