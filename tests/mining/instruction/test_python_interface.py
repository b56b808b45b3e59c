"""What hidden tests in Python need by name, and is stated from the signatures of the change."""

from tests.mining.instruction.changes import change, instruction

BEFORE = "def connect(host):\n    return host\n"


def test_a_new_function_is_stated_with_its_signature_and_contract_but_without_its_body() -> None:
    after = BEFORE + (
        "\n\ndef ping(host: str, *, timeout: float = 30) -> bool:\n"
        '    """Say whether a host answers. It tries once."""\n'
        "    secret_step = host.encode()\n    return bool(secret_step)\n"
    )
    test = "from net import ping\n\n\ndef test_a_host_answers():\n    assert ping('a', timeout=1)\n"

    written = instruction(
        change("Add a check for hosts", source={"net.py": (BEFORE, after)}, tests={"test_net.py": (None, test)})
    )

    stated = "`def ping(host: str, *, timeout: float=30) -> bool` in `net.py`: Say whether a host answers."
    assert written.interface == (stated,)
    assert "## Interface" in written.text
    assert stated in written.text
    assert "secret_step" not in written.text


def test_a_new_parameter_is_stated_and_a_new_annotation_is_not() -> None:
    source = {
        "net.py": (
            "def connect(host):\n    pass\n\n\ndef close(host):\n    pass\n",
            "def connect(host, *, retries=3):\n    pass\n\n\ndef close(host: str) -> None:\n    pass\n",
        )
    }
    test = "import net\n\n\ndef test_it_retries():\n    net.connect('a', retries=1)\n    net.close('a')\n"

    written = instruction(change("Retry lost connections", source=source, tests={"test_net.py": (None, test)}))

    assert written.interface == ("`def connect(host, *, retries=3)` in `net.py`",)


def test_members_that_tests_use_are_stated_and_others_are_not() -> None:
    after = (
        "from dataclasses import dataclass\n\n\n@dataclass(frozen=True)\nclass Reply:\n"
        '    """What a host says."""\n\n    code: int\n    body: str = ""\n\n'
        "    @property\n    def ok(self) -> bool:\n        return self.code < 400\n\n"
        "    def dump(self):\n        return self.body\n"
    )
    test = "from net import Reply\n\n\ndef test_a_reply_is_ok():\n    assert Reply(code=200).ok\n"

    written = instruction(
        change("Add replies of hosts", source={"net.py": (None, after)}, tests={"test_net.py": (None, test)})
    )

    assert written.interface == (
        "`@dataclass(frozen=True) class Reply with the fields code: int, body: str = ''` in `net.py`: "
        "What a host says.",
        "`@property def Reply.ok(self) -> bool` in `net.py`",
    )


def test_a_name_that_a_package_offers_is_stated_with_the_package() -> None:
    source = {
        "src/net/__init__.py": ("", "from net._core import ping\n"),
        "src/net/_core.py": ("", "def ping(host):\n    pass\n"),
    }
    test = "from net import (\n    ping,\n)\n\n\ndef test_ping_answers():\n    ping('a')\n"

    written = instruction(change("Add a check for hosts", source=source, tests={"tests/test_net.py": (None, test)}))

    assert "`ping` can be imported from `net`." in written.interface


def test_a_message_that_tests_look_for_is_quoted_with_its_fields() -> None:
    after = BEFORE + '\n\ndef check(port):\n    raise ValueError(f"port {port} is not in 1 to {limit()}")\n'
    test = (
        "import pytest\nfrom net import connect\n\n\ndef test_a_port_is_refused():\n"
        '    with pytest.raises(ValueError, match="port 0 is not in 1 to"):\n        connect("a:0")\n'
    )

    written = instruction(
        change("Refuse a wrong port", source={"net.py": (BEFORE, after)}, tests={"test_net.py": (None, test)})
    )

    assert written.interface == (
        "The exception `ValueError`.",
        'The text `"port {port} is not in 1 to {…}"` in `net.py`.',
    )


def test_option_names_and_variables_are_quoted_wherever_they_stand_in_a_text() -> None:
    after = BEFORE + 'OPTIONS = ("--dry-run",)\nVARIABLE = "NET_PROXY_URL"\n'
    test = 'def test_options_of_the_connection(run):\n    run("net --dry-run now", env="NET_PROXY_URL=x")\n'

    written = instruction(
        change(
            "Allow dry runs of a connection", source={"net.py": (BEFORE, after)}, tests={"test_net.py": (None, test)}
        )
    )

    assert written.interface == ('The text `"--dry-run"` in `net.py`.', 'The text `"NET_PROXY_URL"` in `net.py`.')


def test_results_and_texts_that_the_base_has_are_not_stated() -> None:
    after = BEFORE.replace("return host", 'return {"status": host, "colour": 17}')
    test = (
        "import net\n\n\ndef test_connect_reports_its_status():\n"
        '    assert net.connect("a") == {"status": "a", "colour": 17}\n'
    )

    written = instruction(
        change(
            "Report the status of a connection",
            source={"net.py": (BEFORE, after)},
            tests={"test_net.py": (None, test)},
            known_at_base=["status"],
        )
    )

    assert written.interface == ('The text `"colour"` in `net.py`.',)


def test_only_tests_that_must_pass_count() -> None:
    after = BEFORE + "\n\ndef ping(host):\n    pass\n\n\ndef trace(host):\n    pass\n"
    test = (
        "import net\n\n\ndef test_ping_answers():\n    net.ping('a')\n\n\n"
        "def test_trace_is_skipped_here():\n    net.trace('a')\n"
    )

    written = instruction(
        change(
            "Add a check for hosts",
            source={"net.py": (BEFORE, after)},
            tests={"test_net.py": (None, test)},
            fail_to_pass=["tests.test_net::test_ping_answers"],
        )
    )

    assert written.interface == ("`def ping(host)` in `net.py`",)
    assert "trace" not in written.text


def test_a_file_that_cannot_be_parsed_is_read_by_patterns() -> None:
    after = "def ping(host):\n    print 'pong pong'\n"
    test = "from net import ping\n\ndef test_ping():\n    assert ping('a') == 'pong pong'\n"

    written = instruction(
        change("Add ping to the network module", source={"net.py": (None, after)}, tests={"test_net.py": (None, test)})
    )

    assert 'The text `"pong pong"` in `net.py`.' in written.interface
    assert any("ping" in item for item in written.interface)


def test_a_command_of_another_language_is_a_text_and_a_pattern_is_not() -> None:
    after = BEFORE + 'START = "\\\\begin{hosts}"\nPATTERN = r"host-(?:\\d+) of \\w+"\n'
    test = (
        "import net\n\n\ndef test_hosts_are_listed():\n"
        '    assert net.connect("a") == "\\\\begin{hosts} host-1 of a"\n    assert net.connect("host-") is None\n'
    )

    written = instruction(
        change("List hosts of a net", source={"net.py": (BEFORE, after)}, tests={"test_net.py": (None, test)})
    )

    assert written.interface == ('The text `"\\\\begin{hosts}"` in `net.py`.',)


def test_how_an_object_is_shown_is_stated_where_a_test_looks_at_it() -> None:
    before = "class Attempt:\n    def __init__(self, number):\n        self.number = number\n"
    shown = '    def __repr__(self) -> str:\n        return f"<Attempt {self.number}>"\n'
    test = 'from net import Attempt\n\n\ndef test_slots():\n    assert {}(Attempt(2)) == "<Attempt 2>"\n'

    looks, other = (
        instruction(
            change(
                "Make attempts slotted",
                source={"net.py": (before, f"{before}\n{shown}")},
                tests={"test_net.py": (None, test.replace("{}", called))},
            )
        )
        for called in ("repr", "describe")
    )

    assert "`def Attempt.__repr__(self) -> str` in `net.py`" in looks.interface
    assert "__repr__" not in " ".join(other.interface)
