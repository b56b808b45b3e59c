show() {
    echo "$1"
}
