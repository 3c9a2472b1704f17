"""`python -m assay.cli.reference`: the page docs/cli.md, made from the commands themselves."""

from typing import Any

import click

from assay.cli import COMMANDS, app


def page() -> str:
    """The whole page as Markdown."""
    parts = [
        "# Commands\n",
        "Made from the commands themselves by `make docs-cli`; a test compares.\n",
        _section("assay", app, None),
    ]
    context = _context("assay", app, None)
    for name in sorted(COMMANDS):
        command = app.get_command(context, name)
        if command is not None:
            parts.append(_section(f"assay {name}", command, context))
        if isinstance(command, click.Group):
            within = _context(name, command, context)
            for sub in command.list_commands(within):
                inner = command.get_command(within, sub)
                if inner is not None:
                    parts.append(_section(f"assay {name} {sub}", inner, within))
    return "\n".join(parts)


def _section(title: str, command: click.Command, parent: click.Context | None) -> str:
    context = _context(title.split()[-1], command, parent)
    return f"## {title}\n\n```\n{command.get_help(context).rstrip()}\n```\n"


def _context(name: str, command: click.Command, parent: click.Context | None) -> click.Context:
    """A context of a fixed width: the page must not depend on the terminal that it was made in."""
    settings: dict[str, Any] = {**command.context_settings, "terminal_width": 100, "max_content_width": 100}
    return click.Context(command, info_name=name, parent=parent, **settings)


if __name__ == "__main__":
    click.echo(page(), nl=False)
