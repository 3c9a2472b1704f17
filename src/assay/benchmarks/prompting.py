"""Prompt files and how they are filled in.

A prompt is a text file in `prompts/`. A line whose `{name}` has no value is left out as a whole, so that a
question without a caption carries no "Caption: None".
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


@cache
def load_prompt(name: str) -> str:
    """The text of `prompts/<name>.txt`."""
    return files("assay.benchmarks").joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8")


def load_prompts(names: Sequence[str]) -> dict[str, str]:
    return {name: load_prompt(name) for name in names}


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put `values` in place of `{name}`; a line that names an empty or absent value is dropped.

    Values are inserted once and never looked at again, so braces inside a question are harmless.
    """
    return "\n".join(
        _PLACEHOLDER.sub(lambda match: values[match.group(1)], line)
        for line in template.rstrip("\n").split("\n")
        if all(values.get(name) for name in _PLACEHOLDER.findall(line))
    )


def hash_prompts(texts: Mapping[str, str]) -> str:
    """SHA-256 over names and texts, hexadecimal: what `Benchmark.prompt_hash` returns."""
    listing = "".join(f"{name}\x00{texts[name]}\x00" for name in sorted(texts))
    return hashlib.sha256(listing.encode()).hexdigest()
