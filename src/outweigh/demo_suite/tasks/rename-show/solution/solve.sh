#!/bin/sh
set -eu
sed -i 's/show/present/' library.sh program.sh
