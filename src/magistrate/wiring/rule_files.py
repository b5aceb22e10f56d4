"""Reads files of rules for gateways, for the service and for the command that tests them."""

from magistrate.engine.forwarding.rule_files import MAX_FILE_BYTES, read_rules
from magistrate.engine.forwarding.rules import RuleTable
from magistrate.errors import InvalidRequest


def read_rule_file(path: str) -> RuleTable:
    """Returns the rules of a file. Raises InvalidRequest, which names the file, and for a fault in it the line."""
    return read_rules(read_rule_text(path), path)


def read_rule_text(path: str) -> str:
    """Returns the text of a file of rules. Raises InvalidRequest, which names the file."""
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise InvalidRequest(f"{path} is larger than {MAX_FILE_BYTES} bytes")
        return content.decode("utf-8-sig")
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise InvalidRequest(f"{path} is not valid UTF-8") from None
