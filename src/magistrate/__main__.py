"""`python -m magistrate` is the same as `magistrate`."""

from magistrate.cli.commands import main

main()
