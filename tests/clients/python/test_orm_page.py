"""What docs/orm.md shows is what its program prints."""

import os
import re
import subprocess
import sys

from tests.generated_docs import ROOT
from tests.running import KEY, Client

PAGE = (ROOT / "docs" / "orm.md").read_text()


MODEL = """version 1.0
type user
type document
    relation viewer [user]
    relation can-read []
    inherit can-read if relation viewer
"""


def test_the_program_prints_what_the_page_shows(shared_client: Client) -> None:
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    [program] = [text for language, text in blocks if language == "python"]
    [shown] = [text for language, text in blocks if not language]
    headers = {"content-type": "text/plain"}
    shared_client.put("/v2/model", content=MODEL.encode(), headers=headers).raise_for_status()

    own = {"MAGISTRATE_URL": str(shared_client.base_url).rstrip("/"), "MAGISTRATE_API_KEY": KEY}
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, env=os.environ | own, capture_output=True, text=True, timeout=60)

    assert (ran.stdout, ran.stderr) == (shown, "")
