#!/bin/sh
set -eu
cat > settings.json <<'END'
{"mirrors": ["south", "north"]}
END
