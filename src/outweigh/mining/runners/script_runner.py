"""Plain scripts that are tests: each is started by itself, and passes when its exit code is 0."""

import re
from collections.abc import Sequence

from outweigh.mining.runners.base_runner import BaseRunner, quoted
from outweigh.mining.runners.runner import ReadFile

_LOOP = """set -- FILES
[ $# -gt 0 ] || set -- $(find test tests t -maxdepth 1 -type f -name 'test*.*' 2>/dev/null | sort)
code=0; echo 'TAP version 13' > "REPORT"
for script; do
  case $script in *.sh) program=sh;; *.bash) program=bash;; *.py) program=python;; *.rb) program=ruby;; \
*.php) program=php;; *.pl|*.t) program=perl;; *) program=node;; esac
  if $program "$script"; then printf 'ok - %s\\n' "$script" >> "REPORT"
  else code=1; printf 'not ok - %s\\n' "$script" >> "REPORT"; fi
done; exit $code"""


class ScriptRunner(BaseRunner):
    """Scripts in a folder of tests. It is the last resort, where no other runner is found."""

    name = "scripts"
    report_format = "tap"
    program = ""
    test_file = re.compile(r"(?:^|/)(?:tests?|t)/[^/]*\.(?:[cm]?js|sh|bash|rb|php|pl|t)$|^test\.[cm]?js$")

    def detect(self, files: Sequence[str], read: ReadFile) -> bool:
        """Whether there are scripts that are named as tests, or that use a library which makes every script a test."""
        scripts = [path for path in files if self.has_tests(path)]
        by_library = re.search(rb'"(?:tape|tap|uvu|zora)"\s*:', read("package.json") or b"") is not None
        return bool(scripts) and (by_library or any(re.search(r"test[^/]*$", path) for path in scripts))

    def start(self, files: Sequence[str], report: str) -> str:
        """A loop over the scripts that writes the report."""
        return _LOOP.replace("FILES", quoted(files)).replace("REPORT", report)

    def changed_tests(self, path: str, before: bytes | None, after: bytes) -> frozenset[str] | None:
        """A script is one test."""
        return None

    def covers(self, path: str, function: str | None, reported: str) -> bool:
        """Reports name the script."""
        return reported == path
