[ "$(printf '3 1 2\n9 1 3 2\n' | python3 -S median)" = "$(printf '2.0\n2.5\n')" ]
