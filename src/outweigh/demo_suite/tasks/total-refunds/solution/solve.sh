#!/bin/sh
set -eu
echo 155 > answer.txt
