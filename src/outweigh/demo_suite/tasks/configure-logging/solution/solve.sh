#!/bin/sh
set -eu
cat > settings.json <<'END'
{"logging": {"level": "warning"}}
END
