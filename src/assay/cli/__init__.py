"""The command line. One thin module per command; a command's module is imported only when it is used."""

import errno
import os
import sys
from pathlib import Path
from typing import Any

import click

from assay import __version__
from assay.cli.lazy import LazyGroup, Table
from assay.errors import AssayError, RunStopped, UsageError
from assay.report.tables import plain

COMMANDS: Table = {
    "board": ("assay.cli.board", "Rank several runs of one benchmark."),
    "compare": ("assay.cli.compare", "Compare two runs with paired tests."),
    "data": ("assay.cli.data", "Check your own data before a model is paid; make charts with known answers."),
    "demo": ("assay.cli.demo", "Measure two tiny models that come with the package, offline."),
    "eval": ("assay.cli.eval", "Ask a model every question of a benchmark and score its replies."),
    "judge": ("assay.cli.judge", "Check a judge against labelled replies."),
    "list": ("assay.cli.list", "List the benchmarks."),
    "probe": ("assay.cli.probe", "Ask a server what it really supports."),
    "prm": ("assay.cli.prm", "Train a process critic and test it."),
    "select": ("assay.cli.select", "Choose again from the pools of a search, without a model."),
    "score": ("assay.cli.score", "Score recorded replies, or mark a run again, without a model."),
}


@click.group(
    cls=LazyGroup, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="assay")
def app() -> None:
    """Measure and refine multimodal reasoning.

    Point `assay eval` at any OpenAI-compatible server, or `assay score` at recorded replies, and get a score with every
    sample accounted for. Start with `assay demo`.
    """


# Exit codes: 2 as click's own usage errors, 3 for a run that stopped on purpose and can go on, 1 for everything else.
def exit_code(error: AssayError) -> int:
    if isinstance(error, UsageError):
        return 2
    return 3 if isinstance(error, RunStopped) else 1


def main(args: list[str] | None = None) -> Any:
    """Run the command line; errors that Assay raises on purpose become one sentence and an exit code."""
    _fill_closed_streams()
    try:
        _refuse_empty(sys.argv[1:] if args is None else args)
        app.main(args=args, prog_name="assay", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("assay: interrupted", err=True)
        sys.exit(130)
    except AssayError as error:
        # A message may quote data, file names and servers: nothing of theirs may steer the terminal.
        click.echo(f"assay: {plain(str(error))}", err=True)
        sys.exit(exit_code(error))
    except BrokenPipeError:
        # The reader of our output has gone (`assay score ... | head`).
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        click.echo("assay: No space is left where the output goes. Make room, then repeat the command.", err=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left unprinted fails again at the interpreter's end
        sys.exit(1)


def _refuse_empty(arguments: list[str]) -> None:
    """Raise a `UsageError` where an argument or an option's value is empty, as a shell's variable that is not set.

    As a path it would be the current folder: a run would be written there, or everything in it read.
    """
    for before, argument in zip(["", *arguments], arguments, strict=False):
        option, equals, value = argument.partition("=")
        if not argument or (option.startswith("--") and equals and not value):
            name = option or (before if before.startswith("-") else "An argument")
            raise UsageError(f"{name} is empty. Is a variable not set? Give a value, or leave it out.")


def _fill_closed_streams() -> None:
    """Open the null device for standard streams that whoever started us has closed (`2>&-`).

    Python has None in their place. And the next file to be opened, such as a run's, would get their number, with all
    that a library writes there.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - as long as the process lives
