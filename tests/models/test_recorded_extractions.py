"""Recordings that hold an extracted answer beside each reply, under the names that published outputs use."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from assay.errors import DataError
from assay.models.replay import ReplayModel, read_replies
from assay.types import Request


def recording(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "replies.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("beside", "extraction"),
    [
        ({"extraction": "5"}, "5"),
        ({"extracted_answer": "5"}, "5"),
        ({"extraction": ""}, ""),  # the extractor found no answer: not the same as no extraction
        ({"extraction": 5}, "5"),
        ({"extracted_answer": 0.5}, "0.5"),
        ({"extraction": [1, 2]}, "[1, 2]"),
        ({"extraction": None, "extracted_answer": "7"}, "7"),
        ({"extraction": None}, None),
        ({"extraction": True}, None),  # somebody's own flag
        ({"extraction": {"answer": "5"}}, None),
        ({}, None),
    ],
)
def test_the_extraction_stands_beside_the_text(beside: dict[str, Any], extraction: str | None, tmp_path: Path) -> None:
    recorded = read_replies(recording(tmp_path, {"id": 1, "response": "The sum is 5.", **beside}))
    reply = recorded.get("1")
    recorded.close()
    assert reply is not None
    assert (reply.text, reply.extraction, reply.extracted) == ("The sum is 5.", extraction, False)
    assert recorded.extractions == (extraction is not None)


def test_a_file_of_extractions_only_has_them_as_texts(tmp_path: Path) -> None:
    recorded = read_replies(recording(tmp_path, {"id": 1, "extraction": "5"}), reply_field="extraction")
    reply = recorded.get("1")
    recorded.close()
    assert reply is not None
    assert (reply.text, reply.extraction) == ("5", None)


def test_only_replies_are_counted(tmp_path: Path) -> None:
    rows = [{"id": 1, "response": None, "extraction": "5"}, {"id": 2, "response": "b", "extraction": "5"}]
    recorded = read_replies(recording(tmp_path, *rows))
    recorded.close()
    assert recorded.extractions == 1


def test_a_replay_hands_the_extraction_on(tmp_path: Path) -> None:
    model = ReplayModel.open(recording(tmp_path, {"id": 1, "response": "The sum is 5.", "extraction": "5"}))

    async def ask() -> str | None:
        reply = (await model.generate(Request(messages=(), sample_id="1")))[0]
        await model.close()
        return reply.extraction

    assert asyncio.run(ask()) == "5"


@pytest.mark.parametrize("field", ["id", "sample_id", "pid", "question_id", "sample_index", "qid", "uid", "ID"])
def test_usual_names_of_the_id_are_known(field: str, tmp_path: Path) -> None:
    recorded = read_replies(recording(tmp_path, {field: "17", "response": "b"}, {field: "18", "response": "c"}))
    recorded.close()
    assert list(recorded.ids()) == ["17", "18"]


def test_the_first_row_decides_and_the_plain_name_wins(tmp_path: Path) -> None:
    recorded = read_replies(recording(tmp_path, {"pid": "other", "id": "17", "response": "b"}))
    recorded.close()
    assert list(recorded.ids()) == ["17"]
    with pytest.raises(DataError, match="no sample id in the field 'pid'"):
        read_replies(recording(tmp_path, {"pid": "17", "response": "b"}, {"id": "18", "response": "b"}))


def test_a_reply_in_several_fields_is_a_json_list(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text('{"id": 1, "pred": ["a", "b"], "scale": ""}\n{"id": 2, "pred": null, "scale": "percent"}\n')
    recorded = read_replies(path, reply_field="pred,scale")
    texts = [reply.text for sample_id in ("1", "2") if (reply := recorded.get(sample_id))]
    recorded.close()
    assert texts == ['[["a", "b"], ""]', '[null, "percent"]']
    with pytest.raises(DataError, match="no row has a field 'pred,unit'"):
        read_replies(path, reply_field="pred,unit")


def test_a_list_of_one_draw_is_that_draw(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text('{"id": 1, "output": ["said"]}\n{"id": 2, "output": "plain"}\n')
    recorded = read_replies(path)
    texts = [reply.text for sample_id in ("1", "2") if (reply := recorded.get(sample_id))]
    recorded.close()
    assert texts == ["said", "plain"]
