"""What is mined is tried with what the change needs, by the commands that the user states."""

from pathlib import Path

from tests.prerequisites import needs
from tests.repositories import Repository

from outweigh.app.mine_suite import MineRequest, mine_suite

PACKAGE = '{"name": "kettle", "version": "1.0.0", "dependencies": {%s}}\n'
CHECK = 'grep -q tea "/opt/dependencies/wanted.json" && grep -q "boil" src/kettle.js\n'


@needs("bubblewrap")
def test_a_dependency_that_the_change_adds_is_installed_for_its_task(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "kettle")
    repository.commit(
        {"package.json": PACKAGE % "", "src/kettle.js": "exports.fill = () => 1;\n", "tests/run.sh": "true\n"}
    )
    repository.write(
        {
            "package.json": PACKAGE % '"tea": "1"',
            "src/kettle.js": "exports.fill = () => 1;\nexports.boil = () => require('tea');\n",
            "tests/run.sh": CHECK,
        }
    )
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--message=Add boil\n\n`boil()` of `src/kettle.js` makes tea.")

    mined = mine_suite(
        MineRequest(
            repository=repository.folder,
            folder=tmp_path / "mined",
            setup="cp package.json /opt/dependencies/wanted.json",
            test="sh tests/run.sh",
        )
    )

    (result,) = mined.results.values()
    assert result.is_proven, result
