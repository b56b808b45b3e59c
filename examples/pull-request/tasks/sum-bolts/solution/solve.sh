#!/bin/sh
set -eu
awk '{ s += $1 } END { print s }' numbers.txt >answer.txt
