#!/bin/sh
set -eu
sed -i 's/keep/store/' library.sh program.sh
