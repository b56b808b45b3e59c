[ "$(printf 'Two  gaps\nHello, world!\n' | python3 -S slug)" = "$(printf 'two-gaps\nhello-world\n')" ]
