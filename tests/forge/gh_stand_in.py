"""Stands in for `gh api --include …`: prints the answer as `gh` does, and ends with 1 where it is a refusal."""

import sys
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

url, token, verb, *words = sys.argv[1:]
assert verb == "api"
assert words[:2] == ["--include", "--hostname"]
assert words[3] == "--method"
method, path, *rest = words[4:]
body = sys.stdin.buffer.read() if rest == ["--input", "-"] else None
request = Request(f"{url}/{path}", data=body, headers={"Authorization": f"Bearer {token}"}, method=method)
try:
    answer = urlopen(request)
except HTTPError as refusal:
    answer = refusal
except URLError as fault:
    sys.exit(f"error connecting to api.github.com: {fault}")
print(f"HTTP/2.0 {answer.status} OK", *(f"{name}: {value}" for name, value in answer.headers.items()), sep="\r\n")
print("\r")
sys.stdout.flush()
sys.stdout.buffer.write(answer.read())
sys.exit(0 if answer.status < 400 else 1)
