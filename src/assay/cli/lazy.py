"""A group of commands whose modules are imported only when they are used, so that `--help` stays fast."""

from importlib import import_module
from typing import Any

import click

Table = dict[str, tuple[str, str]]
"""Name of a command -> (module that holds it as `command`, line for the help page)."""


class LazyGroup(click.Group):
    """See above."""

    def __init__(self, *args: Any, table: Table, **options: Any) -> None:
        super().__init__(*args, **options)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.table:
            return None
        return import_module(self.table[cmd_name][0]).command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        if not self.table:
            return
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in sorted(self.table.items())])
