"""`assay probe`: what a server really honours."""

import asyncio
from typing import Any

import click

from assay.cli.common import json_option
from assay.cli.model import model_from, model_options
from assay.errors import UsageError
from assay.report.result import indented


@click.command("probe")
@model_options
@json_option
def command(as_json: bool, **options: Any) -> None:
    """Ask a server what it really supports: n, log-probabilities, seed, pictures, prefill.

    Some servers ignore parameters without a word, so Assay looks at what comes back. At most nine short calls.
    """
    from assay.models.openai import Capabilities, OpenAIModel, probe

    opened = model_from(options)

    async def run() -> Capabilities:
        try:
            if not isinstance(opened, OpenAIModel):
                raise UsageError("Only servers can be probed: give --base-url, or an address openai:NAME@URL.")
            return await probe(opened)
        finally:
            await opened.close()

    found = asyncio.run(run())
    if as_json:
        click.echo(indented(found))
        return
    click.echo(f"{found.model} at {found.url}")
    for name, value in (
        ("n draws in one call", found.draws),
        ("log-probabilities", found.logprobs),
        ("seed", found.seed),
        ("pictures", found.images),
    ):
        click.echo(f"  {name:<22} {'unknown' if value is None else 'yes' if value else 'no'}")
    click.echo(f"  {'prefill':<22} {found.prefill}")
    for note in found.notes:
        click.echo(f"  {note}")
