#!/bin/sh
set -eu
cat > median <<'END'
import sys

for line in sys.stdin:
    values = sorted(map(float, line.split()))
    middle = len(values) // 2
    odd = len(values) % 2
    print(values[middle] if odd else (values[middle - 1] + values[middle]) / 2)
END
