greet() {
    echo "$1"
}
