"""FinCharts-lite: bar charts of 112 x 112 pixels that a model of a few million parameters can read, made on the spot.

Made by: `assay.fincharts.lite`, from a seed; there is nothing to fetch. The questions are marked and scored as those of
         FinMME are (https://arxiv.org/abs/2505.24714, https://github.com/luo-junyu/FinMME)
Licence: Apache-2.0, as this package

One question:

    {"bars": [["red", 7], ["blue", 3], ["green", 9]], "kind": "difference_choice", "asked": ["red", "blue"],
     "options": ["2", "4", "6", "10"]}  ->  How much higher is red than blue?  A: 2  B: 4  C: 6  D: 10

A split is a seed: any word gives other questions, always the same ones for that word. `held-out` is what numbers are
reported for; the words that begin with `train` are those of the recipe of the packaged models, which never saw another
seed's questions but by chance. `held-out:500` are the first 500 questions of `held-out`; without a number there are
2,000. Pictures are kept in the cache folder (`ASSAY_CACHE`, else `XDG_CACHE_HOME/assay`, else `~/.cache/assay`).

The facets of FinScore that bars of no meaning don't have are dealt out: the knowledge domain by the question's hash.
"""

import atexit
import hashlib
import io
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from assay.benchmarks import finmme
from assay.benchmarks.base import Source
from assay.benchmarks.pictures import PictureStore, cache_folder
from assay.benchmarks.prompting import fill, hash_prompts, load_prompt, load_prompts
from assay.errors import UsageError
from assay.fincharts import lite
from assay.fincharts.words import vocabulary
from assay.images import Transform
from assay.types import ChoiceGold, ImagePart, Message, Sample, Sampling, TextPart

SPLIT = "held-out"
COUNT = 2_000
"""Questions of a split that names no number."""

_SPLIT = re.compile(r"(?P<seed>[A-Za-z0-9][A-Za-z0-9._-]*)(?::(?P<count>[1-9][0-9]{0,5}))?")

_PROMPT = "fincharts_lite"

_LEVELS = {
    "higher": "Comprehensive Perception",
    "lower": "Comprehensive Perception",
    "above": "Fine-grained Perception",
}
"""Kind of question -> FinMME's cognitive level; the others reckon."""

_REASONING = "Cognition and Reasoning"


class LiteDataset:
    """The questions of one seed. See `Dataset`."""

    def __init__(self, split: str) -> None:
        """Make the questions and their pictures.

        Raises:
            UsageError: for a split that names no seed.
        """
        named = _SPLIT.fullmatch(split)
        if named is None:
            raise UsageError(
                f"--split {split!r} is no seed. Write a word of letters, digits and -, such as {SPLIT}, or with the "
                f"number of questions {SPLIT}:500."
            )
        shelf = _Shelf()
        digest = hashlib.sha256()
        samples: list[Sample] = []
        for number, item in enumerate(islice(lite.items(named["seed"]), int(named["count"] or COUNT)), start=1):
            image = lite.draw(item)
            digest.update(msgspec.json.encode(item) + hashlib.sha256(image.tobytes()).digest())
            samples.append(_sample(item, f"{named['seed']}-{number}", shelf.put(image)))
        self._samples = tuple(samples)
        self.split = split
        self.revision = digest.hexdigest()
        self.facts = shelf.notes

    def __len__(self) -> int:
        return len(self._samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self._samples)


class _Shelf:
    """Where the pictures lie: in the cache folder; where nothing can be written there, in one for this process alone.

    A picture that is there is read and compared: a damaged one is written anew.
    """

    def __init__(self) -> None:
        self._store = PictureStore()
        self.notes: tuple[str, ...] = ()

    def put(self, image: Any) -> str:
        """The picture's path."""
        written = io.BytesIO()
        image.save(written, "PNG")
        try:
            return str(self._store.put(written.getvalue(), compare=True))
        except OSError as cause:
            if self.notes:  # the temporary folder fails as well
                raise UsageError(f"Pictures can't be written: {cause}. Give ASSAY_CACHE a folder with room.") from cause
            note = (
                f"The cache folder {cache_folder()} can't be written ({cause.strerror}): the pictures lie in a "
                "temporary folder while this process runs. Set ASSAY_CACHE to keep them."
            )
            self.notes = (note,)
        folder = tempfile.mkdtemp(prefix="assay-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        self._store = PictureStore(Path(folder))
        return self.put(image)


def _sample(item: lite.LiteItem, identity: str, picture: str) -> Sample:
    sample = lite.sample(item, identity, picture)
    facets = {
        "knowledge_domain": (_domain(item),),
        "cognitive_level": (_LEVELS.get(item.kind, _REASONING),),
        "chart_type": ("Distribution",),
    }
    if isinstance(sample.gold, ChoiceGold) and sample.gold.multiple and len(sample.gold.labels) > 1:
        facets["multi_answer"] = ("yes",)
    return msgspec.structs.replace(sample, facets=sample.facets | facets)


def _domain(item: lite.LiteItem) -> str:
    """One of FinMME's knowledge domains, the same for the same question under every seed."""
    domains = sorted(vocabulary().domains)
    drawn = int.from_bytes(hashlib.sha256(msgspec.json.encode(item)).digest()[:8])
    return domains[drawn % len(domains)]


def open_lite(source: Source) -> LiteDataset:
    """The questions of the seed that `source.split` names.

    Raises:
        UsageError: data is given, or the split names no seed, or there is no room for the pictures.
    """
    if source.data is not None:
        raise UsageError("fincharts-lite is made on the spot, from the seed that --split names: leave --data out.")
    return LiteDataset(source.split or SPLIT)


def messages(sample: Sample, images: Sequence[ImagePart], *, prompt: str = "") -> tuple[Message, ...]:
    """One user turn: the picture, then the text."""
    shown = "\n".join(f"{option.label}: {option.text}" for option in sample.options)
    text = fill(load_prompt(_PROMPT, prompt), {"question": sample.question, "options": shown})
    return (Message(role="user", parts=(*images, TextPart(text=text))),)


def prompt_hash() -> str:
    """SHA-256 over the prompt file."""
    return hash_prompts(load_prompts((_PROMPT,)))


BENCHMARK = replace(
    finmme.BENCHMARK,
    name="fincharts-lite",
    title="FinCharts-lite: small bar charts for the packaged models",
    licence="Apache-2.0",
    default_split=SPLIT,
    sizes={SPLIT: COUNT},
    hub=None,
    made=True,
    transform=Transform(format="png"),
    sampling=Sampling(temperature=0.0, max_tokens=160),
    open=open_lite,
    messages=messages,
    prompt_hash=prompt_hash,
    templates=(),
)
