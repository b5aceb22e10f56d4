"""`magistrate import --from-warrant` in this process."""

from click.testing import Result

from magistrate.cli.commands import main
from tests.cli.runner import CommandRunner
from tests.reference_server import KEY as OLD_KEY
from tests.reference_server import Reference, reference_server
from tests.running import KEY


def moved(url: str, database_url: str, *arguments: str, key: str | None = KEY) -> Result:
    """What `import --from-warrant` does, the key in the environment."""
    options = ["import", "--from-warrant", url, "--database-url", database_url, *arguments]
    environment = {"MAGISTRATE_WARRANT_API_KEY": key}
    return CommandRunner().invoke(main, options, env=environment, prog_name="magistrate")


def moved_from(reference: Reference, database_url: str, *arguments: str) -> Result:
    with reference_server(reference) as server:
        return moved(server.url, database_url, *arguments, key=OLD_KEY)


def lines_of(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]
