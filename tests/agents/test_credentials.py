"""Whether there is a key is told, and never the key."""

from pathlib import Path

from outweigh.agents.credentials import describe_credentials

KEYS, LOGINS = ("A_KEY", "B_KEY"), (".agent/login.json",)


def test_the_variable_that_holds_a_key_is_named(tmp_path: Path) -> None:
    assert (
        describe_credentials(KEYS, ("OWN_TOKEN",), LOGINS, {"A_KEY": "", "B_KEY": "sk-1"}, tmp_path) == "key in B_KEY"
    )


def test_a_login_is_named_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / ".agent").mkdir()
    (tmp_path / ".agent" / "login.json").write_text("secret")

    told = describe_credentials(KEYS, ("OWN_TOKEN",), LOGINS, {}, tmp_path)

    assert told == "login in ~/.agent/login.json, which trials do not see; export A_KEY or B_KEY"


def test_nothing_at_all_is_said_as_such(tmp_path: Path) -> None:
    assert describe_credentials(KEYS, ("OWN_TOKEN",), LOGINS, {}, tmp_path) == "no A_KEY or B_KEY"


def test_a_token_that_the_gateway_does_not_look_at_is_no_key(tmp_path: Path) -> None:
    told = describe_credentials(KEYS, ("OWN_TOKEN",), LOGINS, {"OWN_TOKEN": "sk-1"}, tmp_path)

    assert told == 'OWN_TOKEN serves mode = "direct" alone; export A_KEY or B_KEY'


def test_a_login_that_the_gateway_can_use_is_named_with_the_key_of_an_arm_that_does(tmp_path: Path) -> None:
    (tmp_path / ".agent").mkdir()
    (tmp_path / ".agent" / "login.json").write_text("secret")

    stored = describe_credentials(KEYS, (), LOGINS, {}, tmp_path, can_log_in=True)
    token = describe_credentials(
        KEYS, ("TOKEN",), LOGINS, {"TOKEN": "sk-1"}, tmp_path, can_log_in=True, login_variables=("TOKEN",)
    )

    assert stored == 'login in ~/.agent/login.json, for arms with auth = "login"; for others export A_KEY or B_KEY'
    assert token == 'TOKEN, for arms with auth = "login"; for others export A_KEY or B_KEY'
