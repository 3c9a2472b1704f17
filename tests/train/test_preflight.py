"""Every row is looked at before a step is paid: what it becomes, and what is refused."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from assay.errors import DataError, UsageError
from assay.models.local_checkpoint import Checkpoint, load_checkpoint
from assay.train.chat import read_chat
from assay.train.collate import WEIGHTS, Collator
from assay.train.pictures import Pictures, limit_pixels
from assay.train.preflight import Found, PreFlight
from assay.train.preflight_report import overview, settle, shown, steps_of, table
from support.chat_rows import RIGHT, WRONG, chat_row, write_rows
from support.tiny import build_idefics3, build_llava, build_qwen, build_text

pytest.importorskip("torch", reason="needs torch: pip install 'assay[local]'")

pytestmark = pytest.mark.local


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Checkpoint]:
    base = tmp_path_factory.mktemp("checkpoints")
    build = {"llava": build_llava, "idefics3": build_idefics3, "qwen": build_qwen, "text": build_text}
    return {kind: load_checkpoint(make(base / kind), device="cpu") for kind, make in build.items()}


def prepared(
    checkpoint: Checkpoint, folder: Path, rows: Sequence[dict[str, Any]], *, memory: int = 2**20, **options: Any
) -> tuple[Found, Pictures]:
    path = write_rows(folder / "rows.jsonl", rows)
    return again(checkpoint, path, memory=memory, **options)


def again(checkpoint: Checkpoint, path: Path, *, memory: int = 2**20, **options: Any) -> tuple[Found, Pictures]:
    pictures = Pictures(checkpoint, memory)
    flight = PreFlight(checkpoint, pictures, **{"max_length": 10_000, **options})
    return flight.prepare(list(read_chat(path))), pictures


# --------------------------------------------------------------------------------------------------------------------
# What a row becomes


@pytest.mark.parametrize("kind", ["llava", "idefics3", "qwen"])
def test_a_rows_tokens_and_pixels_are_the_processors(
    checkpoints: dict[str, Checkpoint], tmp_path: Path, kind: str
) -> None:
    # Two pictures in one row: each in its place.
    rows = [chat_row(0), chat_row(1, images=["picture-1.png", "picture-2.png"])]
    found, pictures = prepared(checkpoints[kind], tmp_path, rows)
    batch = Collator(found.rows, pictures, checkpoints[kind].pad).batch(found.rows[1:])
    place = {"qwen": "<|vision_start|><|image_pad|><|vision_end|>", "llava": "<image>\n"}.get(kind, "<image>")
    text = f"<|start|>user\n{place * 2}Is step 1 right?<|end|>\n<|start|>assistant\n{WRONG}<|end|>"
    processor: Any = checkpoints[kind].processor
    shown_pictures = [Image.open(tmp_path / name) for name in rows[1]["images"]]
    expected = processor(text=[text], images=[shown_pictures], return_tensors="pt")
    assert found.rows[1].ids.tolist() == expected["input_ids"][0].tolist()
    assert batch["input_ids"].tolist() == expected["input_ids"].tolist()
    # In half precision: off by less than a tenth of a grey level, which is 1 / 255 over a deviation of about 0.27.
    assert float((batch["pixel_values"] - expected["pixel_values"]).abs().max()) < 0.1 / 255 / 0.27
    for name in ("image_grid_thw", "pixel_attention_mask"):
        assert name not in expected or batch[name].tolist() == expected[name].tolist()


def test_positions_are_the_models_own(checkpoints: dict[str, Checkpoint], tmp_path: Path) -> None:
    # Rows of one layout share what was worked out once, whichever of them is longer.
    rows = [
        chat_row(0),
        chat_row(4, prompt="Is it right? " * 9),
        chat_row(8),
        chat_row(1, picture=False),
        chat_row(2, images=["picture-1.png", "picture-3.png"]),
    ]
    checkpoint = checkpoints["qwen"]
    found, _ = prepared(checkpoint, tmp_path, rows)
    processor: Any = checkpoint.processor
    import torch

    for row, written in zip(found.rows, rows, strict=True):
        grids: Any = None
        if written["images"]:
            images: Any = [Image.open(tmp_path / name) for name in written["images"]]
            grids = processor.image_processor(images, return_tensors="pt")["image_grid_thw"]
        ids = torch.from_numpy(row.ids.astype(np.int64))[None]
        kinds = (ids == processor.image_token_id).int()
        expected, _ = checkpoint.model.model.get_rope_index(ids, mm_token_type_ids=kinds, image_grid_thw=grids)
        assert row.positions is not None
        assert row.positions.tolist() == expected[:, 0].tolist()


def test_case_154_every_row_has_tokens_that_the_loss_falls_on(
    checkpoints: dict[str, Checkpoint], tmp_path: Path
) -> None:
    found, pictures = prepared(checkpoints["qwen"], tmp_path, [chat_row(0), chat_row(1, picture=False)])
    tokenizer: Any = checkpoints["qwen"].tokenizer
    for row, completion in zip(found.rows, (RIGHT, WRONG), strict=True):
        assert tokenizer.decode(row.ids[row.start :]) == completion + "<|end|>"
        assert row.trained > 0
    batch = Collator(found.rows, pictures, checkpoints["qwen"].pad).batch(found.rows)
    for at, row in enumerate(found.rows):
        labels = batch["labels"][at]
        assert labels[labels != -100].tolist() == row.ids[row.start :].tolist()
        assert int((batch["attention_mask"][at] == 1).sum()) == len(row.ids)
        assert batch["attention_mask"][at][len(row.ids) :].sum() == 0  # filled up on the right


def test_case_155_verdict_words_are_found_in_their_context(checkpoints: dict[str, Checkpoint], tmp_path: Path) -> None:
    completion = (
        "Step 1\nIntent: Correct it\nImage: Correct | Incorrect\nLogic: a plain Incorrect reading | Correct\n"
        "Judgement: Incorrect\nCorrection of step 1: Correct\nEnd of critique"
    )
    found, pictures = prepared(
        checkpoints["text"], tmp_path, [chat_row(0, picture=False, completion=completion)], verdict_weight=4.0
    )
    (row,) = found.rows
    assert row.weights is not None
    tokenizer: Any = checkpoints["text"].tokenizer
    heavy = "".join(
        tokenizer.decode([token]) if weight == 4 else "·"
        for token, weight in zip(row.ids[row.start :].tolist(), row.weights.tolist(), strict=True)
    )
    words = [word for word in heavy.replace("·", " ").split() if word]
    assert words == ["Incorrect", "Correct", "Incorrect"]
    batch = Collator(found.rows, pictures, 0).batch(found.rows)
    assert float(batch[WEIGHTS].sum()) == row.trained + 3 * int((row.weights == 4).sum())
    assert "⟦Step 1\nIntent: Correct it\nImage: Correct | Incorrect×4\n" in shown(row, tokenizer)


def test_without_a_weight_every_token_counts_alike(checkpoints: dict[str, Checkpoint], tmp_path: Path) -> None:
    found, _ = prepared(checkpoints["text"], tmp_path, [chat_row(0, picture=False)])
    assert found.rows[0].weights is None


def test_a_row_is_shown_with_its_mask(checkpoints: dict[str, Checkpoint], tmp_path: Path) -> None:
    found, _ = prepared(checkpoints["qwen"], tmp_path, [chat_row(0)])
    # A picture of 56 x 56 px or more is at least 4 tokens, of which two are written out.
    text = shown(found.rows[0], checkpoints["qwen"].tokenizer)
    assert text.startswith("<|start|>user\n<|vision_start|><|image_pad|><|image_pad|>… ")
    assert text.endswith(f"Is step 0 right?<|end|>\n<|start|>assistant\n⟦{RIGHT}<|end|>⟧")


def test_pictures_are_prepared_once_and_kept_as_far_as_there_is_room(
    checkpoints: dict[str, Checkpoint], tmp_path: Path
) -> None:
    rows = [chat_row(number) for number in range(8)]  # four files
    found, pictures = prepared(checkpoints["llava"], tmp_path, rows)
    assert (len(pictures), pictures.kept) == (4, 4)
    size = 3 * 32 * 32 * 2  # LLaVA's pictures, in half precision
    small, some = prepared(checkpoints["llava"], tmp_path, rows, memory=2 * size)
    assert (len(some), some.kept) == (4, 2)
    for one, other in zip(found.rows, small.rows, strict=True):
        first = pictures.tensors(one.row.images)["pixel_values"]
        assert first.equal(some.tensors(other.row.images)["pixel_values"])
    (tmp_path / "copy.png").write_bytes((tmp_path / "picture-0.png").read_bytes())
    _, same = prepared(checkpoints["llava"], tmp_path, [chat_row(0), chat_row(1, images=["copy.png"])])
    assert len(same) == 1


# --------------------------------------------------------------------------------------------------------------------
# What is refused


def refusal(found: Found, **options: Any) -> str:
    with pytest.raises(DataError) as problem:
        settle("rows.jsonl", found, **{"drop_long": False, **options})
    return str(problem.value)


def test_cases_170_171_a_row_that_is_too_long_is_refused_or_left_out_never_cut(
    checkpoints: dict[str, Checkpoint], tmp_path: Path
) -> None:
    # Frameworks cut such rows, and with them the tokens of their pictures.
    rows = [chat_row(0), chat_row(1, prompt="Is it right? " * 8), chat_row(2)]
    whole, _ = prepared(checkpoints["qwen"], tmp_path, rows)
    length = len(whole.rows[1].ids)
    found, _ = prepared(checkpoints["qwen"], tmp_path, rows, max_length=length - 1)
    said = refusal(found)
    assert f"1 of its rows can't be trained on, too long: row-1 ({length:,} tokens, limit {length - 1:,})" in said
    assert "--drop-long" in said
    (line,) = settle("rows.jsonl", found, drop_long=True)
    assert line == f"rows.jsonl: 1 rows dropped, too long: row-1 ({length:,} tokens, limit {length - 1:,})"
    assert [row.row.id for row in found.rows] == ["row-0", "row-2"]
    place: int = checkpoints["qwen"].processor.image_token_id  # pyright: ignore[reportOptionalMemberAccess]
    for row in found.rows:
        assert int((row.ids == place).sum()) == row.pictures > 0
    assert len(prepared(checkpoints["qwen"], tmp_path, rows, max_length=length)[0].rows) == 3


def test_the_models_context_is_a_limit_as_well(checkpoints: dict[str, Checkpoint], tmp_path: Path) -> None:
    found, _ = prepared(checkpoints["qwen"], tmp_path, [chat_row(0, prompt="so " * 400)])  # its context: 256
    assert "limit 256" in refusal(found)


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def overwrite(path: Path) -> None:
    path.write_bytes(b"<html>")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (Path.unlink, "the picture can't be read (No such file or directory)"),
        (cut_off, "the PNG file ends early"),
        (overwrite, "an HTML page"),
    ],
    ids=["missing", "cut off", "no picture"],
)
def test_a_picture_that_can_not_be_read_is_named(
    checkpoints: dict[str, Checkpoint], tmp_path: Path, spoil: Callable[[Path], Any], words: str
) -> None:
    path = write_rows(tmp_path / "rows.jsonl", [chat_row(0), chat_row(1)])
    spoil(tmp_path / "picture-0.png")
    found, _ = again(checkpoints["qwen"], path)
    assert [row.row.id for row in found.rows] == ["row-1"]
    said = refusal(found, drop_long=True)
    assert "1 of its rows can't be trained on, a picture can't be read: row-0" in said
    assert words in said


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"completion": " \n"}, "nothing to train on: row-0 (the completion is empty)"),
        ({"prompt": "see <|vision_start|><|image_pad|><|vision_end|>"}, "the checkpoint can't be asked that"),
        ({"prompt": "see <|image_pad|>"}, "pictures don't fit their places: row-0 (2 places for 1 pictures)"),
        ({"completion": "see <|image_pad|>"}, "pictures don't fit their places"),
        ({"completion": "see <|image_pad|>", "images": []}, "pictures don't fit their places"),
        ({"id": "row-1"}, "the id is there twice: row-1"),
    ],
)
def test_rows_that_can_not_be_trained_on_are_refused(
    checkpoints: dict[str, Checkpoint], tmp_path: Path, fields: dict[str, Any], kind: str
) -> None:
    found, _ = prepared(checkpoints["qwen"], tmp_path, [chat_row(1), chat_row(0, **fields)])
    assert kind in refusal(found, drop_long=True)


def test_a_template_that_drops_pictures_is_refused(tmp_path: Path) -> None:
    chat = "{% for message in messages %}<|start|>{{ message['role'] }}\n{% for part in message['content'] %}"
    chat += "{% if part['type'] == 'text' %}{{ part['text'] }}{% endif %}{% endfor %}<|end|>\n{% endfor %}"
    checkpoint = load_checkpoint(build_llava(tmp_path / "blind", chat=chat), device="cpu")
    found, _ = prepared(checkpoint, tmp_path, [chat_row(0)])
    assert "drops pictures" in refusal(found)


def test_a_completion_that_grows_into_the_prompt_is_refused(tmp_path: Path) -> None:
    # The prompt ends with `a` here, and `an` is one token: the model is never asked with half of it.
    chat = "{% for message in messages %}<|start|>{{ message['content'] }}<|end|>\n{% endfor %}"
    chat += "{% if add_generation_prompt %}<|start|>a{% endif %}"
    checkpoint = load_checkpoint(build_text(tmp_path / "text", chat=chat), device="cpu")
    vocabulary: dict[str, int] = checkpoint.tokenizer.get_vocab()
    pair = next(token for token in vocabulary if len(token) == 2 and token.startswith("a"))
    found, _ = prepared(checkpoint, tmp_path, [chat_row(0, picture=False, completion=pair[1] + " is right")])
    assert "a token spans prompt and completion: row-0" in refusal(found)


# --------------------------------------------------------------------------------------------------------------------
# What is said


def test_the_table_counts_rows_and_tokens(checkpoints: dict[str, Checkpoint], tmp_path: Path) -> None:
    rows = [chat_row(number, picture=number > 0) for number in range(3)]
    found, _ = prepared(checkpoints["llava"], tmp_path, rows)
    part = overview(found)
    lengths = sorted(len(row.ids) for row in found.rows)
    assert (part.rows, part.with_pictures, part.tokens) == (3, 2, sum(lengths))
    assert (part.median, part.longest) == (lengths[1], lengths[2])
    assert part.picture_tokens == 2 * 16
    assert part.trained == sum(len(row.ids) - row.start for row in found.rows)
    text = table({"data": part}, steps=7)
    assert "of pictures" in text
    assert "of verdicts" not in text  # they weigh what all tokens weigh
    assert text.endswith("7")


@pytest.mark.parametrize(("weight", "row"), [(3.0, "of verdicts, weight 3"), (0.5, "of verdicts, weight 0.5")])
def test_the_table_counts_the_verdicts_that_weigh_otherwise(
    checkpoints: dict[str, Checkpoint], tmp_path: Path, weight: float, row: str
) -> None:
    # One row with a verdict on the picture and one on the step; one row without any, in a part of its own.
    rows = [chat_row(0, picture=False)]
    found, _ = prepared(checkpoints["text"], tmp_path, rows, verdict_weight=weight)
    none, _ = prepared(
        checkpoints["text"], tmp_path, [chat_row(0, picture=False, completion="Fine.")], verdict_weight=weight
    )
    tokenizer: Any = checkpoints["text"].tokenizer
    expected = 2 * len(tokenizer.encode("Correct", add_special_tokens=False))
    text = table({"data": overview(found), "held_out": overview(none)}, steps=7, verdict_weight=weight)
    (line,) = [line for line in text.splitlines() if row in line]
    assert line.split() == [*row.split(), str(expected), "0"]


@pytest.mark.parametrize(
    ("rows", "batch", "accumulate", "epochs", "processes", "steps"),
    [(10, 4, 1, 1.0, 1, 3), (10, 4, 2, 1.0, 1, 2), (10, 4, 1, 2.0, 1, 6), (10, 4, 1, 0.5, 1, 2), (16, 2, 2, 1.0, 4, 1)],
)
def test_steps(rows: int, batch: int, accumulate: int, epochs: float, processes: int, steps: int) -> None:
    assert steps_of(rows, batch=batch, accumulate=accumulate, epochs=epochs, processes=processes) == steps


def test_limits_of_pixels_change_the_tokens(tmp_path: Path) -> None:
    folder = build_qwen(tmp_path / "qwen")
    counts: list[int] = []
    for most in (None, 56 * 28):
        checkpoint = load_checkpoint(folder, device="cpu")
        limit_pixels(checkpoint, None, most)
        counts.append(prepared(checkpoint, tmp_path, [chat_row(2)])[0].rows[0].pictures)
    # 56 x 70 px or 84 x 56 px are 4 or 6 tokens of 28 x 28; within 56 x 28 px there are 2 at most.
    assert counts[0] >= 4
    assert counts[1] <= 2
    with pytest.raises(UsageError, match="must not exceed"):
        limit_pixels(load_checkpoint(folder, device="cpu"), 1000, 10)


def test_limits_of_pixels_need_a_checkpoint_that_takes_any_size(checkpoints: dict[str, Checkpoint]) -> None:
    with pytest.raises(UsageError, match="pictures of any size"):
        limit_pixels(checkpoints["llava"], None, 1000)
