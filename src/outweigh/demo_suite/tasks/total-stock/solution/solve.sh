#!/bin/sh
set -eu
echo 72 > answer.txt
