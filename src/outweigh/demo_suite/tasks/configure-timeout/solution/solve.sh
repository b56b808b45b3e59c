#!/bin/sh
set -eu
cat > settings.json <<'END'
{"http": {"timeout": 30}}
END
