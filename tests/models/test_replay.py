"""Recorded replies: what may stand in a file, how a reply is found, and recording what a model says."""

import asyncio
import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import CallError, DataError
from assay.models.base import request_key
from assay.models.replay import RecordingModel, ReplayModel, read_replies
from assay.types import Message, Reply, Request, Sampling, TextPart, Token, Usage


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def request(sample_id: str = "1", prompt: str = "How much?", **fields: Any) -> Request:
    message = Message(role="user", parts=(TextPart(text=prompt),))
    return Request(messages=(message,), sample_id=sample_id, **fields)


class Counting:
    """A model whose reply names the prompt, the draw and how many draws it has given before."""

    identity = "counting"

    def __init__(self) -> None:
        self.calls: list[Request] = []
        self.closed = 0

    async def generate(self, request: Request) -> tuple[Reply, ...]:
        self.calls.append(request)
        part = request.messages[-1].parts[0]
        assert isinstance(part, TextPart)
        return tuple(
            Reply(text=f"{part.text} {request.index + draw}", usage=Usage(completion_tokens=len(self.calls)))
            for draw in range(request.n)
        )

    async def close(self) -> None:
        self.closed += 1


def ask(model: ReplayModel | RecordingModel, *requests: Request, close: bool = True) -> list[list[str]]:
    async def run() -> list[list[str]]:
        try:
            return [[reply.text for reply in await model.generate(request)] for request in requests]
        finally:
            if close:
                await model.close()

    return asyncio.run(run())


# --------------------------------------------------------------------------------------------------
# Files written by others


@pytest.mark.parametrize("field", ["response", "reply", "output", "prediction", "text", "answer_text"])
def test_the_reply_field_is_found(tmp_path: Path, field: str) -> None:
    replies = read_replies(write(tmp_path / "r.jsonl", {"id": "1", field: "Answer: B", "extra": [1]}))
    assert replies.get("1") == Reply(text="Answer: B")
    replies.close()


def test_the_reply_field_can_be_named_and_ids_are_compared_as_text(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", {"pid": 7, "text": "no", "mine": "A"}, {"pid": "8", "mine": 5.5})
    replies = read_replies(path, id_field="pid", reply_field="mine")
    assert list(replies.ids()) == ["7", "8"]
    assert (replies.get("7"), replies.get("8")) == (Reply(text="A"), Reply(text="5.5"))
    replies.close()


def test_null_is_no_reply_and_empty_is_an_empty_reply(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"id":1,"response":"x"}\n{"id":2,"response":null}\n{"id":3}\n{"id":4,"response":""}\n'
                    '{"id":5,"response":NaN}\n')  # fmt: skip
    model = ReplayModel.open(path)
    for sample_id in ("2", "3", "5", "17"):
        with pytest.raises(CallError) as caught:
            ask(model, request(sample_id), close=False)
        assert caught.value.kind == "no_reply"
        assert not caught.value.retryable
        assert not caught.value.fatal
        assert repr(sample_id) in str(caught.value)
    assert ask(model, request("4"), request("1")) == [[""], ["x"]]


def test_several_rows_are_draws_in_file_order_unless_they_say_otherwise(tmp_path: Path) -> None:
    rows: list[object] = [{"id": 1, "response": text} for text in "abc"]
    rows += [{"id": 2, "response": "z", "index": 2}, {"id": 2, "response": "x", "index": 0}]
    rows += [{"id": 2, "response": "y", "index": 1}]
    model = ReplayModel.open(write(tmp_path / "r.jsonl", *rows))
    assert model.replies.draws("1") == model.replies.draws("2") == 3
    assert ask(model, request("1", n=3), request("1", index=1, n=2), request("2", n=3), close=False) == [
        ["a", "b", "c"],
        ["b", "c"],
        ["x", "y", "z"],
    ]
    with pytest.raises(CallError, match="draw 3"):
        ask(model, request("1", index=2, n=2))


def test_a_draw_that_stands_twice_is_named_by_both_lines(tmp_path: Path) -> None:
    path = write(
        tmp_path / "r.jsonl",
        {"id": 1, "response": "a", "index": 0},
        {"id": 2, "response": "b"},
        {"id": "1", "response": "c", "index": 0},
    )
    with pytest.raises(DataError, match=r"r\.jsonl:3: a second row .* the first is .*r\.jsonl:1"):
        read_replies(path)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"id": 2, "response": "b"\n', "not a line of JSON"),
        (b'{"id": 2, "respon', "may be cut off"),
        (b'["2", "b"]\n', "a list, not an object"),
        (b'{"response": "b"}\n', "no sample id in the field 'id'; the fields are response"),
        (b'{"id": 1.5, "response": "b"}\n', "id 1.5 is no text or integer"),
        (b'{"id": true, "response": "b"}\n', "id True"),
        (b'{"id": 2, "response": ["b", "c"]}\n', "'response' is a list"),
        (b'{"id": 2, "response": false}\n', "'response' is a bool"),
        (b'{"id": 2, "response": {"text": 3}}\n', "'response' is not a reply"),
        (b'{"id": 2, "response": "b", "index": -1}\n', "index -1"),
        (b'{"id": 2, "response": "b", "index": "x"}\n', "index 'x'"),
        (b'{"id": 2, "response": "\xff"}\n', "not a line of JSON"),
        (b"[" * 100_000 + b"\n", "not a line of JSON"),
        (b'{"id": 2, "response": ' + b"9" * 10_000 + b"}\n", "not a line of JSON"),
    ],
)
def test_a_bad_line_is_named_by_its_number(tmp_path: Path, line: bytes, problem: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"id": 1, "response": "a"}\n\n' + line)
    with pytest.raises(DataError) as caught:
        read_replies(path)
    assert caught.value.where == f"{path}:3"
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([], "no replies"),
        ([{"id": 1, "comment": "a"}], "the fields are comment, id"),
        (
            [{"id": "a", "index": 7, "response": "x"}, {"id": "b", "index": 8, "response": "x"}],
            "does not number draws",
        ),
    ],
)
def test_a_file_without_replies_is_refused(tmp_path: Path, rows: list[object], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        read_replies(write(tmp_path / "r.jsonl", *rows))


def test_a_missing_file_or_field_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_replies(tmp_path / "none.jsonl")
    with pytest.raises(DataError, match="no row has a field 'mine'"):
        read_replies(write(tmp_path / "r.jsonl", {"id": 1, "response": "a"}), reply_field="mine")


def test_index_is_no_draw_where_it_is_the_id(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", {"index": 5, "prediction": "A"}, {"index": 6, "prediction": "B"})
    assert ask(ReplayModel.open(path, id_field="index"), request("6")) == [["B"]]


def test_a_byte_order_mark_and_windows_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id": 1, "response": "a"}\r\n\r\n{"id": 2, "response": "b"}')
    assert ask(ReplayModel.open(path), request("1"), request("2")) == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("fields", "reply"),
    [
        ({"finish": "length"}, Reply(text="t", finish="length")),
        ({"finish_reason": "MAX_TOKENS"}, Reply(text="t", finish="length")),
        ({"finish_reason": "content_filter"}, Reply(text="t", finish="filter")),
        ({"finish_reason": "tool_calls"}, Reply(text="t", finish="other")),
        ({"finish_reason": None}, Reply(text="t")),
        ({"reasoning": "hm"}, Reply(text="t", reasoning="hm")),
        ({"reasoning_content": "hm"}, Reply(text="t", reasoning="hm")),
        ({"extracted": True}, Reply(text="t", extracted=True)),
        ({"key": 5}, Reply(text="t")),  # somebody's own column
        ({"response": "<think>hm</think>t"}, Reply(text="t", reasoning="hm")),
        ({"response": "<think>hm", "finish": "length"}, Reply(text="", reasoning="hm", finish="length")),
    ],
)
def test_optional_fields(tmp_path: Path, fields: dict[str, object], reply: Reply) -> None:
    replies = read_replies(write(tmp_path / "r.jsonl", {"id": 1, "response": "t", **fields}))
    assert replies.get("1") == reply
    replies.close()


@pytest.mark.parametrize(
    ("texts", "extracted"),
    [
        (["A", "B", None, "-3.5%", "\\frac{1}{2}"], True),
        (["A", ""], True),
        (["A", "The answer is B"], False),
        (["A", "Answer:B"], False),
        (["A", "\\boxed{B}"], False),
        (["A", "答案：B"], True),  # a bare token by the letter of the rule
        (["A", "x" * 41], False),
        (["A", "x" * 40], True),
        (["", None], False),
        (["<think>hm</think>B"], False),
    ],
)
def test_files_of_extracted_answers_are_recognised(tmp_path: Path, texts: list[str | None], extracted: bool) -> None:
    rows = [{"id": number, "response": text} for number, text in enumerate(texts)]
    replies = read_replies(write(tmp_path / "r.jsonl", *rows))
    assert replies.looks_extracted is extracted
    replies.close()


def test_real_files_are_told_apart(shared_data: Path) -> None:
    """FinMME's published predictions are letters and numbers alone; chain-of-thought replies are not."""
    for path, field, count, extracted in (
        (shared_data / "finmme" / "rows.jsonl", "other_system_prediction", 134, True),
        (shared_data / "mathvision" / "parity" / "Gemini-Pro-CoT.jsonl", None, 3040, False),
    ):
        replies = read_replies(path, reply_field=field)
        assert len(replies) == count
        assert replies.looks_extracted is extracted
        replies.close()


def test_nulls_of_a_real_file_are_no_replies(shared_data: Path) -> None:
    path = shared_data / "finmme" / "rows.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    replies = read_replies(path, reply_field="other_system_prediction")
    for row in rows:
        reply = replies.get(str(row["id"]))
        expected = row["other_system_prediction"]
        assert (None if reply is None else reply.text) == (None if expected is None else str(expected))
    replies.close()


def test_hostile_texts_survive(tmp_path: Path) -> None:
    """A NUL and a megabyte come back as they are; half a surrogate pair, not writable in UTF-8, as U+FFFD."""
    path = tmp_path / "r.jsonl"
    big = "年" * 350_000
    path.write_text(
        json.dumps({"id": "big", "response": big}, ensure_ascii=False)
        + '\n{"id":"nul","response":"a\\u0000b"}'
        + '\n{"id":"half","response":"a\\uD800b\\ud83d\\ude00"}'
        + '\n{"id":"lines","response":"a\u2028b\\nc\x85"}\n',
        encoding="utf-8",
    )
    model = ReplayModel.open(path)
    texts = ask(model, *(request(name) for name in ("big", "nul", "half", "lines")))
    assert texts == [[big], ["a\x00b"], ["a\ufffdb😀"], ["a\u2028b\nc\x85"]]
    assert msgspec.json.encode(Reply(text=texts[2][0]))  # can be stored


def test_identity_follows_the_content(tmp_path: Path) -> None:
    first = ReplayModel.open(write(tmp_path / "a.jsonl", {"id": 1, "response": "a"}))
    same = ReplayModel.open(write(tmp_path / "a.jsonl", {"id": 1, "response": "a"}))
    other = ReplayModel.open(write(tmp_path / "a.jsonl", {"id": 1, "response": "b"}))
    assert first.identity == same.identity != other.identity
    for model in (first, same, other):
        asyncio.run(model.close())
        asyncio.run(model.close())  # twice is allowed


# --------------------------------------------------------------------------------------------------
# A former run


def store(folder: Path, *rows: tuple[str, str, int, bytes]) -> Path:
    folder.mkdir()
    connection = sqlite3.connect(folder / "replies.sqlite")
    with connection:
        connection.execute("CREATE TABLE replies(key TEXT PRIMARY KEY, sample_id TEXT, draw INTEGER, reply BLOB)")
        connection.executemany("INSERT INTO replies VALUES(?, ?, ?, ?)", rows)
    connection.close()
    return folder


def test_a_runs_folder_is_replayed(tmp_path: Path) -> None:
    reply = Reply(text="B", finish="length", tokens=(Token(text="B", logprob=-0.5),))
    folder = store(
        tmp_path / "run",
        ("k1", "1", 0, msgspec.json.encode(reply)),
        ("k2", "1", 1, msgspec.json.encode(Reply(text="C"))),
    )
    model = ReplayModel.open(folder)
    assert model.replies.get("1") == reply
    assert ask(model, request("1", n=2)) == [["B", "C"]]


def test_replies_to_different_requests_of_one_sample_are_told_apart_by_the_request(tmp_path: Path) -> None:
    asked = request("1", "first")
    folder = store(
        tmp_path / "run",
        (request_key("m", asked, 0), "1", 0, b'{"text":"one"}'),
        ("0", "1", 0, b'{"text":"two"}'),
    )
    (folder / "manifest.json").write_text('{"model": "m"}')
    model = ReplayModel.open(folder)
    assert ask(model, asked, close=False) == [["one"]]
    with pytest.raises(DataError, match="2 replies of draw 0"):
        ask(model, request("1", "another"))


@pytest.mark.parametrize("content", [None, b"not a database" * 100])
def test_a_folder_that_is_no_run_is_refused(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "replies.sqlite").write_bytes(content)
    with pytest.raises(DataError, match=r"replies\.sqlite|store of replies"):
        read_replies(tmp_path)


# --------------------------------------------------------------------------------------------------
# Recording

TEXTS = st.text(st.characters(), max_size=20)
REPLIES = st.builds(
    Reply,
    text=TEXTS,
    reasoning=TEXTS,
    finish=st.sampled_from(["stop", "length", "filter", "other"]),
    model=TEXTS,
    usage=st.none() | st.builds(Usage, prompt_tokens=st.integers(0, 9), completion_tokens=st.integers(0, 9)),
    tokens=st.none() | st.tuples(st.builds(Token, text=TEXTS, logprob=st.floats(-50, 0))),
)


class Saying:
    """A model that gives the same reply always."""

    identity = "saying"

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    async def generate(self, request: Request) -> tuple[Reply, ...]:
        return (self._reply,) * request.n

    async def close(self) -> None:
        return None


def whole(text: str) -> str:
    """The text as it can be stored: without lone surrogates."""
    return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)


@given(reply=REPLIES)
def test_a_recorded_reply_comes_back_whole(tmp_path_factory: pytest.TempPathFactory, reply: Reply) -> None:
    path = tmp_path_factory.mktemp("recording") / "r.jsonl"
    ask(RecordingModel(Saying(reply), path), request("1"))
    tokens = None
    if reply.tokens is not None:
        tokens = tuple(msgspec.structs.replace(token, text=whole(token.text)) for token in reply.tokens)
    replies = read_replies(path)
    assert replies.get("1") == msgspec.structs.replace(
        reply,
        text=whole(reply.text),
        reasoning=whole(reply.reasoning),
        model=whole(reply.model),
        tokens=tokens,
    )
    replies.close()


def test_a_recording_holds_one_line_per_draw(tmp_path: Path) -> None:
    path = tmp_path / "new" / "r.jsonl"
    inner = Counting()
    model = RecordingModel(inner, path)
    assert model.identity == "counting"
    asked = request("s", index=3, n=2)
    assert ask(model, asked, close=False) == [["How much? 3", "How much? 4"]]
    rows = [json.loads(line) for line in path.read_text().splitlines()]  # there before close(): flushed
    assert [(row["id"], row["index"], row["reply"]["text"]) for row in rows] == [
        ("s", 3, "How much? 3"),
        ("s", 4, "How much? 4"),
    ]
    assert [row["key"] for row in rows] == [
        request_key("counting", asked, 3),
        request_key("counting", asked, 4),
    ]
    assert ask(model, asked) == [["How much? 3", "How much? 4"]]
    assert len(path.read_text().splitlines()) == 2  # the same request is not written twice
    assert inner.closed == 1


def test_a_recording_goes_on_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    ask(RecordingModel(Counting(), path), request("1"), request("2"))
    os.truncate(path, path.stat().st_size - 10)
    ask(RecordingModel(Counting(), path), request("2"), request("3"))
    replies = read_replies(path)
    assert list(replies.ids()) == ["1", "2", "3"]
    replies.close()


def test_recorded_requests_of_one_sample_are_told_apart(tmp_path: Path) -> None:
    """Reported as 187: the temperature, too, makes another request."""
    path = tmp_path / "r.jsonl"
    requests = [
        request("1", "solve"),
        request("1", "check"),
        request("1", "solve", sampling=Sampling(temperature=1)),
    ]
    ask(RecordingModel(Counting(), path), *requests)
    replay = ReplayModel.open(path)
    assert ask(replay, *requests, close=False) == [["solve 0"], ["check 0"], ["solve 0"]]
    with pytest.raises(DataError, match="3 replies of draw 0"):
        ask(replay, request("1", "solve better"))


def test_replay_asks_and_records_what_is_missing(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", {"id": 1, "response": "kept"})
    inner = Counting()
    model = ReplayModel.open(path, fallback=inner)
    assert ask(model, request("1", n=3), request("2")) == [
        ["kept", "How much? 1", "How much? 2"],
        ["How much? 0"],
    ]
    assert [(call.sample_id, call.index, call.n) for call in inner.calls] == [("1", 1, 2), ("2", 0, 1)]
    assert inner.closed == 1
    again = Counting()
    model = ReplayModel.open(path, fallback=again)
    assert ask(model, request("1", n=3), request("2"))[0] == ["kept", "How much? 1", "How much? 2"]
    assert again.calls == []


def test_a_changed_prompt_is_asked_anew(tmp_path: Path) -> None:
    """Reported as 190: an old answer to a new prompt."""
    path = tmp_path / "r.jsonl"
    ask(ReplayModel.open(path, fallback=Counting()), request("1", "old"))
    model = ReplayModel.open(path, fallback=Counting())
    assert model.identity == "counting"  # nothing in the file comes from anywhere else
    assert ask(model, request("1", "new"), request("1", "old")) == [["new 0"], ["old 0"]]


def test_a_recording_into_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a folder"):
        RecordingModel(Counting(), tmp_path)
