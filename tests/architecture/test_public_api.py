import subprocess
import sys

import outweigh


def test_every_public_name_is_there() -> None:
    for name in outweigh.__all__:
        assert getattr(outweigh, name) is not None


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import outweigh, sys; print([m for m in ('numpy', 'msgspec', 'genai_prices') if m in sys.modules])"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
