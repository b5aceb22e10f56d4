"""`python -m tests.fuzzing.coverage PARSER SECONDS FOLDER` looks for an input that a parser neither reads nor refuses.

Atheris changes inputs by which code of the service they run. The folder gets those that ran other code than all before,
and it begins with those that are valid. It ends with an exit code other than 0 at the first fault."""

import sys
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["magistrate"]):
    from tests.fuzzing.parsers import PARSERS


def main(name: str, seconds: int, folder: Path) -> None:
    parser = PARSERS[name]
    for number, seed in enumerate(parser.seeds):
        (folder / f"seed-{number}").write_bytes(seed)

    def feed(content: bytes) -> None:
        with suppress(*parser.errors):
            parser.read(content)

    limits = [f"-max_total_time={seconds}", "-max_len=20000", "-timeout=20", "-rss_limit_mb=2048"]
    atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={folder}/fault-", str(folder)], feed)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
