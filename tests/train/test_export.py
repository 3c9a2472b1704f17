"""Exports: prompts as at test time, as many pictures as paths, nothing shared by the parts, nothing lost unseen."""

import asyncio
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import DataError, RunError, UsageError
from assay.solve.generative import GenerativeCritic
from assay.train.chat import broken_marks, read_chat, to_trl, without_places
from assay.train.export import ExportPlan, chat_row, export
from assay.train.export_card import Card, summary
from assay.train.files import read_records, write_records
from assay.train.formats import FORMATS, conversation
from assay.train.records import ChatRow, Dropped, Example
from assay.types import ImagePart, Message, Sample, TextPart
from support.asking import PICTURE
from support.critics import Asked, solved
from support.exporting import example, exported, odd_examples, rows_of, write_examples, write_picture
from support.pictures import exif, file_of, noise, opened, quadrants, same_pixels

# ----------------------------------------------------------------------------------------------------------------------
# Rows


def asked_by_a_critic(question: str, steps: Sequence[str], pictures: int) -> Message:
    """The one message that `GenerativeCritic` puts to its model about a solution."""
    told = Asked(lambda request, _: "End of critique")
    parts = (*[PICTURE] * pictures, TextPart(text=question))
    sample = Sample(id="1", question=question, group="1")
    critic = GenerativeCritic(told.model)
    asyncio.run(critic.critique(sample, (Message(role="user", parts=parts),), solved(*steps)))
    (message,) = told.requests[0].messages
    return message


@pytest.mark.parametrize(
    ("question", "steps"),
    [
        ("How high is the red bar?\n(A) 3\n(B) 4", ("1. Read it.\n\n", "**Step 2:** So it is 4.")),
        ("Wie groß ist α? 图中 😀", ("Es ist \\frac{1}{2}.",)),
        ("With {braces} and </solution> tags", ("a step", "another {count}", "a third")),
        ("", ("a step",)),
    ],
)
def test_the_prompt_is_what_the_critic_asks_at_test_time(question: str, steps: tuple[str, ...]) -> None:
    row = chat_row(example(0, question=question, steps=steps, images=("a.png",)))
    asked = asked_by_a_critic(question, steps, pictures=1)
    picture, text = asked.parts
    assert isinstance(picture, ImagePart)  # shown before the text, as in a row
    assert isinstance(text, TextPart)
    assert row.prompt == text.text


def test_the_completion_is_the_critique_and_the_labels_are_its_own() -> None:
    wrong = example(1, images=("a.png",))
    row = chat_row(wrong)
    assert (row.completion, row.labels, row.id, row.group) == (wrong.critique, (True, False), "e1", "g1")


@pytest.mark.parametrize(
    ("question", "pictures", "expected"),
    [
        ("<image>\nFind x.", 1, "Find x."),
        ("Find x. <image>", 1, "Find x."),
        ("<image><image>Find x.", 1, "Find x."),
        ("Read this:\n<image>\nFind x.", 1, "Read this:\nFind x."),
        ("In <image>, find x.", 1, "In [picture], find x."),
        ("<image> Is <image> red?", 0, "Is [picture] red?"),
        ("<image>\n<IMAGE>\nWhich?", 2, "[picture 1]\n[picture 2]\nWhich?"),
        ("  Find x.  ", 1, "  Find x.  "),
        ("<image>", 1, ""),
        ("<image1> and <images>", 1, "<image1> and <images>"),
    ],
)
def test_places_of_pictures_in_a_question(question: str, pictures: int, expected: str) -> None:
    assert without_places(question, pictures) == expected


@given(st.lists(st.sampled_from(["<image>", "\n", " ", "a", "<", "image>", "<IMAGE>", "\t"]), max_size=30))
def test_no_place_is_left_and_no_word_is_lost(pieces: list[str]) -> None:
    text = "".join(pieces)
    for pictures in (1, 2):
        found = without_places(text, pictures)
        assert "<image>" not in found.casefold()
        words = re.sub("<image>", " ", text, flags=re.IGNORECASE).split()
        assert re.sub(r"\[picture(?: \d+)?\]", " ", found).split() == words


@pytest.mark.parametrize("mark", ["<image>", "<|im_end|>", "<|image_pad|>", "[IMG]", "{{image}}", "</img>", "<video>"])
def test_marks_are_broken_once_and_still_read_the_same(mark: str) -> None:
    broken = broken_marks(f"a {mark} b")
    assert mark not in broken
    assert broken.replace("\u200b", "") == f"a {mark} b"
    assert broken_marks(broken) == broken


def test_texts_without_marks_stay_as_they_are() -> None:
    text = "if a <b> c and |x| < 3 then [IMAGE] {{x}} <Correct or Incorrect> <|> [IMGS]"
    assert broken_marks(text) == text


def test_trl_words_have_a_part_for_every_picture() -> None:
    row = ChatRow(id="1", group="g", images=("a.png", "b.png"), prompt="Which?", completion="a")
    assert to_trl(row) == {
        "images": ["a.png", "b.png"],
        "prompt": [
            {"role": "user", "content": [{"type": "image"}, {"type": "image"}, {"type": "text", "text": "Which?"}]}
        ],
        "completion": [{"role": "assistant", "content": [{"type": "text", "text": "a"}]}],
    }


def test_a_conversation_has_a_place_for_every_picture() -> None:
    row = ChatRow(id="1", group="g", images=("a.png", "b.png"), prompt="Which?", completion="a")
    assert msgspec.to_builtins(conversation(row)) == {
        "id": "1",
        "messages": (
            {"role": "user", "content": "<image><image>Which?"},
            {"role": "assistant", "content": "a"},
        ),
        "images": ("a.png", "b.png"),
    }


# ----------------------------------------------------------------------------------------------------------------------
# Files


def make(folder: Path, examples: Sequence[Example], **plan: Any) -> Card:
    return export([write_examples(folder, examples)], folder / "out", ExportPlan(**plan))


@pytest.mark.parametrize("form", list(FORMATS))
def test_cases_170_171_175_176_as_many_places_as_pictures_whatever_the_texts_say(tmp_path: Path, form: str) -> None:
    given_rows = odd_examples(tmp_path)
    make(tmp_path, given_rows, count=3)
    rows = {row["id"]: row for row in exported(tmp_path / "out", form)}
    assert sorted(rows) == sorted(one.id for one in given_rows)
    for one in given_rows:
        row = rows[one.id]
        assert len(row["images"]) == len(one.images)
        for image in row["images"]:
            assert (tmp_path / "out" / form / image).is_file()
        if form == "trl":
            texts, places = [row["prompt"], row["completion"]], 0
        else:
            texts, places = [turn["content"] for turn in row["messages"]], len(one.images)
        joined = "".join(texts)
        assert joined.count("<image>") == places
        for mark in ("<video>", "<audio>", "<img>", "{{image}}", "[IMG]", "<|image_pad|>", "<|end|>", "<bbox>"):
            assert mark not in joined


def test_formats_say_the_same(tmp_path: Path) -> None:
    make(tmp_path, odd_examples(tmp_path), count=3)
    for part in ("train", "held_out"):
        rows = rows_of(tmp_path / "out" / "trl" / f"{part}.jsonl")
        for form in ("llamafactory", "ms-swift"):
            others = rows_of(tmp_path / "out" / form / f"{part}.jsonl")
            assert [row["id"] for row in others] == [row["id"] for row in rows]
            for row, other in zip(rows, others, strict=True):
                user, assistant = other["messages"]
                assert user == {"role": "user", "content": "<image>" * len(row["images"]) + row["prompt"]}
                assert assistant == {"role": "assistant", "content": row["completion"]}
                assert other["images"] == row["images"]


def test_llamafactory_is_told_of_its_files(tmp_path: Path) -> None:
    """By the form that its documentation gives: data/README.md of LLaMA-Factory, sharegpt with pictures."""
    make(tmp_path, [example(number) for number in range(4)], count=1)
    described = json.loads((tmp_path / "out" / "llamafactory" / "dataset_info.json").read_text())
    assert sorted(described) == ["assay_held_out", "assay_train"]
    assert described["assay_train"] == {
        "file_name": "train.jsonl",
        "formatting": "sharegpt",
        "columns": {"messages": "messages", "images": "images"},
        "tags": {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"},
    }


def test_only_the_formats_that_are_asked_for(tmp_path: Path) -> None:
    card = make(tmp_path, [example(number) for number in range(4)], count=1, formats=("ms-swift",))
    assert sorted(card.files) == ["ms-swift/held_out.jsonl", "ms-swift/train.jsonl"]
    assert not (tmp_path / "out" / "trl").exists()


def test_without_held_out_rows_there_is_no_such_file(tmp_path: Path) -> None:
    make(tmp_path, [example(number) for number in range(4)], count=0)
    assert [path.name for path in (tmp_path / "out" / "trl").iterdir()] == ["train.jsonl"]
    described = json.loads((tmp_path / "out" / "llamafactory" / "dataset_info.json").read_text())
    assert list(described) == ["assay_train"]


def test_rows_come_back_with_their_pictures(tmp_path: Path) -> None:
    name = write_picture(tmp_path, "a.png", 1)
    make(tmp_path, [example(1, images=(name,))], count=0)
    (row,) = read_chat(tmp_path / "out" / "trl" / "train.jsonl")
    assert (row.id, row.labels) == ("e1", (True, False))
    assert Path(row.images[0]).read_bytes() == (tmp_path / name).read_bytes()


def test_rows_that_are_none_are_told_of_or_end_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"id":"1","group":"g","prompt":"p","completion":"c"}\n\n{"id":3}\nno JSON\n\xff\n', encoding="latin1"
    )
    odd: list[DataError] = []
    assert [row.id for row in read_chat(path, on_odd=odd.append)] == ["1"]
    assert [one.where.rpartition(":")[2] for one in odd] == ["3", "4", "5"]
    with pytest.raises(DataError, match=r"rows\.jsonl:3: is no chat row"):
        list(read_chat(path))
    with pytest.raises(DataError, match="can't be read"):
        list(read_chat(tmp_path / "none.jsonl"))
    with pytest.raises(DataError, match="is a file of records, not of chat rows"):
        list(read_chat(write_examples(tmp_path, [example(0)]), on_odd=odd.append))


# ----------------------------------------------------------------------------------------------------------------------
# Pictures


def test_a_picture_that_is_sent_as_it_is_is_linked_or_copied(tmp_path: Path) -> None:
    name = write_picture(tmp_path, "a.png", 1)
    card = make(tmp_path, [example(0, images=(name,))], count=0)
    assert card.pictures == {"linked": 1}
    (picture,) = (tmp_path / "out" / "images").iterdir()
    assert picture.samefile(tmp_path / name)
    card = make(tmp_path, [example(0, images=(name,))], count=0, link=False)
    assert card.pictures == {"linked": 1}, "what lies there is not copied again"
    picture.unlink()
    card = make(tmp_path, [example(0, images=(name,))], count=0, link=False)
    assert card.pictures == {"copied": 1}
    assert not picture.samefile(tmp_path / name)
    assert picture.read_bytes() == (tmp_path / name).read_bytes()


def test_a_picture_behind_a_symbolic_link_is_no_link_in_the_export(tmp_path: Path) -> None:
    name = write_picture(tmp_path, "a.png", 1)
    (tmp_path / "b.png").symlink_to(tmp_path / name)
    make(tmp_path, [example(0, images=("b.png",))], count=0)
    (picture,) = (tmp_path / "out" / "images").iterdir()
    assert not picture.is_symlink()


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(file_of(noise("P", (40, 30)), "PNG"), id="palette"),
        pytest.param(file_of(noise("RGBA", (40, 30)), "PNG"), id="transparent"),
        pytest.param(file_of(quadrants(), "JPEG", exif=exif(6)), id="turned"),
        pytest.param(file_of(quadrants(), "GIF"), id="gif"),
    ],
)
def test_a_picture_that_trainers_would_read_otherwise_is_written_as_it_is_shown(tmp_path: Path, odd: bytes) -> None:
    from assay.images import Transform, prepare

    (tmp_path / "odd.png").write_bytes(odd)
    card = make(tmp_path, [example(0, images=("odd.png",))], count=0)
    assert card.pictures == {"prepared": 1}
    (picture,) = (tmp_path / "out" / "images").iterdir()
    assert opened(picture.read_bytes()).mode in ("L", "RGB")
    assert same_pixels(picture.read_bytes(), prepare(odd, Transform()).part.data)


def test_a_picture_that_many_rows_show_lies_there_once(tmp_path: Path) -> None:
    names = [write_picture(tmp_path, f"{copy}/a.png", 1) for copy in range(3)]
    card = make(tmp_path, [example(number, images=(names[number % 3],)) for number in range(9)], count=0)
    assert (card.pictures, card.parts["train"].pictures) == ({"linked": 1}, 1)
    assert (card.ties, card.largest_tie) == (1, 9)


def test_rows_without_their_picture_are_dropped_and_listed(tmp_path: Path) -> None:
    whole = (tmp_path / write_picture(tmp_path, "a.png", 1)).read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[:-200])
    (tmp_path / "cut.jpg").write_bytes(file_of(noise("RGB", (400, 300)), "JPEG")[:-5_000])
    (tmp_path / "page.png").write_text("<html>404</html>")
    (tmp_path / "empty.png").touch()
    bad = ["none.png", "cut.png", "cut.jpg", "page.png", "empty.png", "a\0b.png", "."]
    rows = [example(number, images=("a.png", name)) for number, name in enumerate(bad)]
    rows.append(example(len(bad), images=("a.png",)))
    card = make(tmp_path, rows, count=0)
    dropped = list(read_records(tmp_path / "out" / "dropped.jsonl", "dropped", Dropped))
    assert [row.id for row in dropped] == [f"e{number}" for number in range(len(bad))]
    kinds = ["missing", "corrupt", "corrupt", "not_an_image", "empty", "unreadable", "unreadable"]
    assert [row.kind for row in dropped] == kinds
    assert all("png" in row.reason or "jpg" in row.reason or "regular" in row.reason for row in dropped)
    assert (card.read, card.kept, sum(card.dropped.values())) == (8, 1, 7)
    assert card.dropped == {"corrupt": 2, "unreadable": 2, "missing": 1, "not_an_image": 1, "empty": 1}
    assert [row["id"] for row in exported(tmp_path / "out")] == ["e7"]


def test_pictures_of_an_earlier_export_that_nothing_shows_are_removed(tmp_path: Path) -> None:
    names = [write_picture(tmp_path, f"{seed}.png", seed) for seed in range(2)]
    make(tmp_path, [example(number, images=(name,)) for number, name in enumerate(names)], count=0)
    make(tmp_path, [example(0, images=(names[0],))], count=0)
    (picture,) = (tmp_path / "out" / "images").iterdir()
    assert picture.samefile(tmp_path / names[0])


# ----------------------------------------------------------------------------------------------------------------------
# What the parts share


def ids(out: Path, part: str) -> set[str]:
    return {row["id"] for row in rows_of(out / "trl" / f"{part}.jsonl")}


def apart(out: Path, one: str, other: str) -> bool:
    return (one in ids(out, "train")) != (other in ids(out, "train"))


def test_rows_that_share_a_picture_a_group_or_a_question_are_in_one_part(tmp_path: Path) -> None:
    names = [write_picture(tmp_path, f"{seed}.png", seed) for seed in range(8)]
    rows = [example(number, images=(names[number],)) for number in range(6)]
    rows[1] = example(1, images=(names[0],))  # the picture of 0
    rows[2] = example(2, images=(names[2],), group="g0")  # the group of 0
    rows[3] = example(3, images=(names[3],), question="  how HIGH is\nbar 0? ")  # the question of 0
    out = tmp_path / "out"
    for seed in range(6):
        card = make(tmp_path, rows, count=2, seed=seed)
        assert not any(apart(out, "e0", other) for other in ("e1", "e2", "e3"))
        assert ids(out, "held_out") == {"e4", "e5"}
        assert (card.ties, card.largest_tie) == (3, 4)


def test_questions_that_read_the_same_may_be_told_apart_by_their_pictures(tmp_path: Path) -> None:
    names = [write_picture(tmp_path, f"{seed}.png", seed) for seed in range(6)]
    rows = [example(number, question="Find x.", images=(name,)) for number, name in enumerate(names)]
    assert make(tmp_path, rows, count=2).parts["held_out"].rows == 0
    assert make(tmp_path, rows, count=2, same_text=False).parts["held_out"].rows == 2


def test_pictures_that_look_alike_are_in_one_part(tmp_path: Path) -> None:
    pytest.importorskip("imagehash")
    # The same drawing in two sizes and encodings, and four others.
    drawing = noise("L", (8, 8), 5).resize((160, 120))
    (tmp_path / "large.png").write_bytes(file_of(drawing, "PNG"))
    (tmp_path / "small.jpg").write_bytes(file_of(drawing.resize((120, 90)), "JPEG", quality=90))
    others = [write_picture(tmp_path, f"{seed}.png", seed) for seed in range(4)]
    rows = [example(number, images=(name,)) for number, name in enumerate(["large.png", "small.jpg", *others])]
    card = make(tmp_path, rows, count=3)
    assert (card.compared, card.ties, card.largest_tie) == (True, 5, 2)
    card = make(tmp_path, rows, count=3, near=None)
    assert (card.compared, card.ties) == (False, 6)


def test_without_imagehash_only_equal_pictures_count_as_one_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "imagehash", None)  # as where it is not installed
    names = [write_picture(tmp_path, f"{seed}.png", seed) for seed in range(4)]
    card = make(tmp_path, [example(number, images=(name,)) for number, name in enumerate(names)], count=1)
    assert (card.compared, card.ties) == (False, 4)
    assert any("pip install 'assay[curate]'" in line for line in summary(card))
    card = make(tmp_path, [example(number, images=(name,)) for number, name in enumerate(names)], count=1, near=None)
    assert not any("imagehash" in line for line in summary(card))


@given(st.data())
def test_parts_never_share_anything(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("export")
    names = [write_picture(folder, f"{seed}.png", seed) for seed in range(6)]
    drawn = st.tuples(st.integers(0, 5), st.lists(st.sampled_from(names), max_size=2), st.integers(0, 5))
    rows = [
        example(number, group=f"g{group}", images=images, question=f"Question {question}?")
        for number, (group, images, question) in enumerate(data.draw(st.lists(drawn, min_size=2, max_size=10)))
    ]
    seed = data.draw(st.integers(0, 3))
    make(folder, rows, count=len(rows) // 2, seed=seed, formats=("trl",), near=None)
    held = ids(folder / "out", "held_out") if (folder / "out" / "trl" / "held_out.jsonl").exists() else set[str]()
    for one in rows:
        for other in rows:
            if one.group == other.group or one.question == other.question or set(one.images) & set(other.images):
                assert (one.id in held) == (other.id in held)


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    rows = [example(number) for number in range(20)]
    assert make(tmp_path, rows, count=4, seed=1).files == make(tmp_path, rows, count=4, seed=1).files
    assert make(tmp_path, rows, count=4, seed=1).files != make(tmp_path, rows, count=4, seed=2).files


@pytest.mark.parametrize(
    ("rows", "share", "held"), [(40, 0.05, 2), (40, 0.0, 0), (4, 0.05, 1), (1, 0.5, 0), (10, 0.33, 3)]
)
def test_a_share_is_rounded_and_not_to_none(tmp_path: Path, rows: int, share: float, held: int) -> None:
    card = make(tmp_path, [example(number) for number in range(rows)], share=share)
    assert card.parts["held_out"].rows == held


# ----------------------------------------------------------------------------------------------------------------------
# What goes in, and where it goes


def test_the_balance_of_both_parts_is_counted(tmp_path: Path) -> None:
    name = write_picture(tmp_path, "a.png", 1)
    rows = [example(number, images=(name,) if number == 0 else ()) for number in range(10)]
    card = make(tmp_path, rows, count=4)
    parts = {part: rows_of(tmp_path / "out" / "trl" / f"{part}.jsonl") for part in ("train", "held_out")}
    for part, found in parts.items():
        counts = card.parts[part]
        assert counts.rows == len(found)
        assert counts.wrong == sum(int(row["id"][1:]) % 2 for row in found)
        assert counts.clean == counts.rows - counts.wrong
        assert counts.without_pictures == sum(not row["images"] for row in found)
    assert sum(counts.pictures for counts in card.parts.values()) == 1


def test_chat_rows_are_exported_by_the_same_path(tmp_path: Path) -> None:
    write_picture(tmp_path, "a.png", 1)
    rows = [
        {"id": f"c{number}", "group": f"h{number}", "prompt": f"Question {number}, <image>?", "completion": "Because."}
        for number in range(4)
    ]
    rows[0]["images"] = ["a.png"]  # pyright: ignore[reportArgumentType]
    chat = tmp_path / "chat.jsonl"
    chat.write_text("".join(json.dumps(row) + "\n" for row in rows))
    examples = write_examples(tmp_path, [example(number) for number in range(4)])
    card = export([examples, chat], tmp_path / "out", ExportPlan(count=2))
    assert [one.kind for one in card.inputs] == ["examples", "chat"]
    assert sum(counts.unlabelled for counts in card.parts.values()) == 4
    found = {row["id"]: row for row in exported(tmp_path / "out")}
    assert sorted(found) == ["c0", "c1", "c2", "c3", "e0", "e1", "e2", "e3"]
    assert found["c0"]["prompt"] == "Question 0, <\u200bimage>?"
    assert found["c0"].get("labels", []) == []
    alone = export([chat], tmp_path / "alone", ExportPlan(count=0))
    assert (alone.prompt, card.prompt is None) == (None, False)


def test_an_export_can_be_exported_again(tmp_path: Path) -> None:
    make(tmp_path, odd_examples(tmp_path), count=0, seed=1)
    card = export([tmp_path / "out" / "trl" / "train.jsonl"], tmp_path / "again", ExportPlan(count=0, seed=1))
    again = tmp_path / "again" / "trl" / "train.jsonl"
    assert again.read_bytes() == (tmp_path / "out" / "trl" / "train.jsonl").read_bytes()
    assert card.kept == 11


def test_malformed_double_and_empty_rows_are_dropped_and_listed(tmp_path: Path) -> None:
    rows = [example(0), example(0), msgspec.structs.replace(example(1), critique=" \n"), example(2)]
    path = write_examples(tmp_path, rows)
    with path.open("a") as file:
        file.write('{"id": "half a row\n{"id": "e9", "colour": "red"}\n')
    card = export([path], tmp_path / "out", ExportPlan(count=0))
    assert (card.read, card.kept) == (6, 2)
    assert card.dropped == {"malformed": 2, "duplicate_id": 1, "empty": 1}
    dropped = list(read_records(tmp_path / "out" / "dropped.jsonl", "dropped", Dropped))
    assert [(row.id, row.kind) for row in dropped if row.id] == [("e0", "duplicate_id"), ("e1", "empty")]
    assert [row.where.rpartition(":")[2] for row in dropped if not row.id] == ["6", "7"]


def test_nothing_that_can_be_exported_is_an_error_that_says_where_the_reasons_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"None of 1 rows can be exported; .*dropped\.jsonl says why"):
        make(tmp_path, [example(0, images=("none.png",))])
    assert not (tmp_path / "out" / "card.json").exists()


def test_other_files_of_ours_are_refused(tmp_path: Path) -> None:
    write_records(tmp_path / "dropped.jsonl", "dropped", [], settings={})
    with pytest.raises(DataError, match=r"is a file of 'assay\.dropped', not of 'assay\.examples'"):
        export([tmp_path / "dropped.jsonl"], tmp_path / "out", ExportPlan())
    with pytest.raises(DataError, match="can't be read"):
        export([tmp_path / "none.jsonl"], tmp_path / "out", ExportPlan())
    assert not (tmp_path / "out").exists()


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match=r"holds 'thesis\.tex', which no export wrote"):
        make(tmp_path, [example(0)])
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.tex"]


def test_an_export_is_not_written_over_what_it_is_made_from(tmp_path: Path) -> None:
    make(tmp_path, [example(number) for number in range(3)], count=1)
    rows = tmp_path / "out" / "trl" / "train.jsonl"
    before = rows.read_bytes()
    with pytest.raises(UsageError, match="is written anew"):
        export([rows], tmp_path / "out", ExportPlan())
    assert rows.read_bytes() == before


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(RunError, match="can't be written"):
        make(tmp_path, [example(0)])


@pytest.mark.parametrize("plan", [{"share": 1.0}, {"share": -0.1}, {"near": 9}, {"near": -1}, {"formats": ()}])
def test_plans_that_make_no_sense(plan: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        ExportPlan(**plan)


def test_what_a_killed_export_left_changes_nothing(tmp_path: Path) -> None:
    rows = odd_examples(tmp_path)
    whole = make(tmp_path, rows, count=4)
    out = tmp_path / "out"
    for name in ("card.json", "card.md", "ms-swift/train.jsonl"):
        (out / name).unlink()
    (out / ".rows.part").write_bytes(b'{"id": "torn')
    (out / "trl" / "held_out.jsonl").write_bytes(b"of another split")
    for name in (".card.json.part", ".dropped.jsonl.part", "trl/.train.jsonl.part", f"images/.{'0' * 64}.png.part"):
        (out / name).write_bytes(b"torn")
    (picture, *_) = sorted((out / "images").glob("[0-9a-f]*"))
    picture.unlink()
    picture.write_bytes(b"torn")
    assert make(tmp_path, rows, count=4).files == whole.files
    assert picture.read_bytes() != b"torn"
    assert not [path.name for path in out.rglob(".*")]


def test_the_card_says_what_is_there(tmp_path: Path) -> None:
    card = make(tmp_path, odd_examples(tmp_path), count=4)
    out = tmp_path / "out"
    assert msgspec.json.decode((out / "card.json").read_bytes(), type=Card) == msgspec.json.decode(
        msgspec.json.encode(card), type=Card
    )
    import hashlib

    for name, digest in card.files.items():
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest
    for picture in (out / "images").iterdir():
        assert hashlib.sha256(picture.read_bytes()).hexdigest() == picture.stem
    page = (out / "card.md").read_text()
    assert all(digest in page for digest in card.files.values())
    assert card.prompt
    assert card.prompt in page
