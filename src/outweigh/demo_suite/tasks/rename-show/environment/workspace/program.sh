. ./library.sh
show picture
