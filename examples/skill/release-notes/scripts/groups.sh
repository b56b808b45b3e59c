#!/bin/sh
# How many commits of each kind a list has.
for kind in feat fix; do
  printf '%s %s\n' "$kind" "$(grep -c "^[0-9a-f]* $kind" "$1")"
done
