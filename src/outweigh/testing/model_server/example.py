"""The script that `outweigh model-server --example` prints: it works as it is, with every agent that has a shell."""

EXAMPLE = """\
# A scripted model. Every request of a conversation gets the next [[turn]]; `run` uses whichever shell tool the agent
# offers, so that one script serves all of them.
[[turn]]
text = "I will write the answer down."
run = "echo 42 >answer.txt"
usage = { input_tokens = 1200, output_tokens = 60, cache_write_tokens = 4000 }

[[turn]]
text = "The answer is in answer.txt."
usage = { input_tokens = 80, output_tokens = 20, cache_read_tokens = 4000 }

# Another task, another conversation: the first whose `when` holds is taken.
[[conversation]]
name = "greeting"
when = { contains = "greeting.txt" }

# The service is busy twice, and then answers.
[[conversation.turn]]
error = { kind = "overloaded", times = 2 }
run = "echo hello >greeting.txt"

[[conversation.turn]]
text = "greeting.txt is written."

# An agent without tools, who takes files from what the model says (aider asks for a "file listing").
[[conversation]]
name = "words only"
when = { tools = false, contains = "file listing" }

[[conversation.turn]]
text = "answer.txt\\n```\\n42\\n```\\n"

# Requests without tools in a conversation that calls some: titles, summaries, looks at the quota.
[side]
text = "An answer"
usage = { input_tokens = 40, output_tokens = 5 }
"""
