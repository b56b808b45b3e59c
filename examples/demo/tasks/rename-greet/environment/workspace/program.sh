. ./library.sh
greet hello
