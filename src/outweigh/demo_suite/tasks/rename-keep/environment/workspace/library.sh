keep() {
    echo "$1"
}
