"""Implements shell completion: the scripts, and the names that the service knows."""

from typing import Any

import click
from click.shell_completion import get_completion_class

from magistrate.cli.output import echo
from magistrate.cli.service import connect_client
from magistrate.config.settings_table import CLIENT_SETTINGS
from magistrate.errors import MagistrateError

SHELLS = ("bash", "zsh", "fish")
TIMEOUT_MS = 250
"""Limits the time to connect, and again the time for the answer: a completion takes half a second at most."""
COMPLETE_VARIABLE = "_MAGISTRATE_COMPLETE"


def complete_types(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Returns the names of object types, or none if no service answers."""
    return [name for name in _type_names(ctx) if name.startswith(begun)]


def complete_objects(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Returns the type prefixes of an object, a check or a warrant, such as `document:`."""
    before: Any = ctx.params.get(parameter.name or "")
    if before and before[-1].endswith(":"):
        return []  # bash treats the colon as a word of its own: an id follows it
    return [f"{name}:" for name in _type_names(ctx) if f"{name}:".startswith(begun)]


def _type_names(ctx: click.Context) -> list[str]:
    flags = {setting.name: ctx.params.get(setting.name) for setting in CLIENT_SETTINGS}
    try:
        with connect_client(flags, TIMEOUT_MS) as client:
            return [definition["type"] for definition in client.object_types()]
    except (MagistrateError, click.ClickException):
        return []


@click.command(short_help="Print a shell completion script.")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that completes commands, options and the names of object types. To load it in every
    new shell, add the line for your shell to its startup file:

    \b
    bash  ~/.bashrc                    eval "$(magistrate completion bash)"
    zsh   ~/.zshrc                     eval "$(magistrate completion zsh)"
    fish  ~/.config/fish/config.fish   magistrate completion fish | source"""
    made = get_completion_class(shell)
    assert made is not None, shell
    script = made(ctx.find_root().command, {}, "magistrate", COMPLETE_VARIABLE).source()
    if shell == "bash":
        # After `document:`, an id follows instead of the next word.
        script = script.replace("    return 0\n", "    [[ ${COMPREPLY-} == *: ]] && compopt -o nospace\n    return 0\n")
    echo(script)
