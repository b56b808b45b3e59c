[ "$(printf 'a b c d\na b c\n' | python3 -S pairs)" = "$(printf 'a+b c+d\na+b c\n')" ]
