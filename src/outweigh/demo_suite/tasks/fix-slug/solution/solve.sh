#!/bin/sh
set -eu
cat > slug <<'END'
import sys

for line in sys.stdin:
    words = "".join(c if c.isalnum() else " " for c in line.lower()).split()
    print("-".join(words))
END
