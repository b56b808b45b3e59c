. ./library.sh
keep parcel
