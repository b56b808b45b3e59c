#!/bin/sh
set -eu
sed -i 's/greet/welcome/' library.sh program.sh
