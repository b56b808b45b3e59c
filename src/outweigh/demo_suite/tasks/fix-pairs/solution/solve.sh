#!/bin/sh
set -eu
cat > pairs <<'END'
import sys

for line in sys.stdin:
    words = line.split()
    print(" ".join("+".join(words[at : at + 2]) for at in range(0, len(words), 2)))
END
