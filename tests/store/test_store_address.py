"""What is an address, what it may not hold, and where it is refused."""

from pathlib import Path

import pytest

from outweigh.errors import UsageError
from outweigh.store.read_only_stores import refuse_read_only
from outweigh.store.store_address import check_address, is_address, refuse_address, split_address


@pytest.mark.parametrize("name", ["s3://team/demo", "sftp://host/srv/demo", "gs://b", "memory://x", "S3://B/x"])
def test_what_has_a_scheme_is_an_address(name: str) -> None:
    assert is_address(name)


@pytest.mark.parametrize("name", ["demo", "/srv/demo", "-", "s3:/team/demo", "C:\\demo", "a/b://c", "://x", ""])
def test_a_path_is_none(name: str) -> None:
    assert not is_address(name)


@pytest.mark.parametrize(
    "address",
    [
        "s3://key:SECRET@team/demo",
        "s3://key:SEC/RET@team/demo",
        "sftp://someone:SECRET@host/srv",
        "sftp://:SECRET@host/srv",
        "https://SECRET@host/demo",
        "https://host/demo?signature=SECRET",
        "s3://team/demo#SECRET",
    ],
)
def test_an_address_with_a_secret_in_it_is_refused_without_repeating_it(address: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_address(address)

    assert "SECRET" not in str(refused.value)
    assert "SEC/RET" not in str(refused.value)


@pytest.mark.parametrize(
    "address",
    [
        "sftp://someone@host:2222/srv/a@b",
        "sftp://host:22",
        "abfs://container@account.dfs.core.windows.net/demo",
        "s3://team/a:b/demo",
    ],
)
def test_users_ports_and_odd_names_are_no_secrets(address: str) -> None:
    assert check_address(f"{address}/") == address


@pytest.mark.parametrize("address", ["s3://", "s3:///", "file:///srv/demo"])
def test_an_address_of_nothing_or_of_this_machine_is_refused(address: str) -> None:
    with pytest.raises(UsageError):
        check_address(address)


def test_an_address_keeps_both_of_its_slashes_where_it_is_taken_apart() -> None:
    assert split_address("s3://team/demo/runs.jsonl") == ("s3://team/demo", "runs.jsonl")


def test_an_address_that_became_a_path_is_still_refused_where_something_would_be_written() -> None:
    with pytest.raises(UsageError, match="is an address"):
        refuse_address(Path("s3://team/demo"), "-o")
    with pytest.raises(UsageError, match="is an address"):
        refuse_read_only(Path("sftp://host/srv"))
    refuse_read_only(Path("no/such:/folder"))
