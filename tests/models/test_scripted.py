"""The scripted model."""

import asyncio
from pathlib import Path

import pytest

from assay.errors import CallError, DataError
from assay.models import open_model
from assay.models.base import parse_address
from assay.models.scripted import ScriptedModel
from assay.types import Reply, Request, Usage
from support.asking import ask, question


def test_function_gets_request_and_draw() -> None:
    model = ScriptedModel(lambda request, index: f"{request.sample_id}/{index}", identity="scripted:x")
    (replies,) = ask(model, question(sample_id="7", index=4, n=3))
    assert [reply.text for reply in replies] == ["7/4", "7/5", "7/6"]
    assert replies[0].model == model.identity == "scripted:x"


def test_function_may_give_a_whole_reply_or_wait() -> None:
    whole = Reply(text="B", finish="length", usage=Usage(prompt_tokens=1, completion_tokens=2))

    async def slowly(_request: Request, _index: int) -> Reply:
        await asyncio.sleep(0)
        return whole

    assert ask(ScriptedModel(slowly), question()) == [(whole,)]


def test_function_may_fail_either_way() -> None:
    def raising(_request: Request, _index: int) -> str:
        raise CallError("timeout", "late", retryable=True)

    for model in (ScriptedModel(raising), ScriptedModel(lambda _request, _index: CallError("timeout", "late"))):
        with pytest.raises(CallError, match="late"):
            ask(model, question())


def rows(folder: Path, text: str) -> Path:
    path = folder / "replies.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


def test_file(tmp_path: Path) -> None:
    path = rows(
        tmp_path,
        '\ufeff{"id": "a", "reply": "Answer: A"}\n'
        "\n"
        '{"id": 7, "index": 1, "reply": "second", "finish": "length", "reasoning": "hm"}\r\n'
        '{"id": 7, "reply": "any", "usage": {"prompt_tokens": 3, "completion_tokens": 1}}',
    )
    model = open_model(parse_address(f"scripted:{path}"))
    (a,), seven = ask(model, question(sample_id="a"), question(sample_id="7", n=3))
    assert (a.text, a.finish) == ("Answer: A", "stop")
    assert [reply.text for reply in seven] == ["any", "second", "any"]
    assert (seven[1].finish, seven[1].reasoning) == ("length", "hm")
    assert seven[0].usage == Usage(prompt_tokens=3, completion_tokens=1)


def test_file_without_a_row(tmp_path: Path) -> None:
    path = rows(tmp_path, '{"id": "a", "index": 0, "reply": "A"}\n')
    for request in (question(sample_id="b"), question(sample_id="a", index=1), question()):
        with pytest.raises(CallError) as caught:
            ask(ScriptedModel.from_file(path), request)
        assert (caught.value.kind, caught.value.retryable) == ("no_reply", False)


def test_file_that_fails_for_a_while(tmp_path: Path) -> None:
    path = rows(tmp_path, '{"id": "a", "reply": "A", "fail": {"kind": "rate_limit", "message": "wait", "times": 2}}\n')

    async def run() -> list[str]:
        model = ScriptedModel.from_file(path)
        seen: list[str] = []
        for draw in (0, 0, 0, 0, 1):  # failures are counted for each draw
            try:
                (reply,) = await model.generate(question(sample_id="a", index=draw))
            except CallError as error:
                seen.append(f"{error.kind} {error} {error.retryable} {error.fatal}")
            else:
                seen.append(reply.text)
        return seen

    failed = "rate_limit wait True False"
    assert asyncio.run(run()) == [failed, failed, "A", "A", failed]


@pytest.mark.parametrize(
    ("kind", "retryable", "fatal"),
    [
        ("connection", True, False),
        ("timeout", True, False),
        ("server", True, False),
        ("malformed", True, False),
        ("bad_request", False, False),
        ("too_long", False, False),
        ("auth", False, True),
        ("not_found", False, True),
    ],
)
def test_file_that_always_fails(tmp_path: Path, kind: str, retryable: bool, fatal: bool) -> None:
    path = rows(tmp_path, f'{{"id": "a", "fail": {{"kind": "{kind}"}}}}\n')
    for _ in range(2):
        with pytest.raises(CallError) as caught:
            ask(ScriptedModel.from_file(path), question(sample_id="a"))
        assert (caught.value.kind, caught.value.retryable, caught.value.fatal) == (kind, retryable, fatal)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"id": "b", "reply": "B"', "truncated"),
        ("Answer: B", "malformed"),
        ("[]", "Expected `object`"),
        ('{"reply": "B"}', "`id`"),
        ('{"id": "b"}', "there is no reply"),
        ('{"id": "b", "fail": {"kind": "server", "times": 1}}', "there is no reply"),
        ('{"id": "b", "reply": "B", "fail": {"kind": "server", "times": -1}}', "negative"),
        ('{"id": "b", "reply": "B", "fail": {"kind": "tired"}}', "tired"),
        ('{"id": "b", "reply": "B", "finish": "early"}', "early"),
        ('{"id": "b", "reply": "B", "anwser": "B"}', "anwser"),
        ('{"id": "a", "reply": "B"}', "'a' was there before"),
        ('{"a":' * 100_000, "."),
    ],
)
def test_bad_row(tmp_path: Path, line: str, problem: str) -> None:
    path = rows(tmp_path, '{"id": "a", "reply": "A"}\n' + line + "\n")
    with pytest.raises(DataError) as caught:
        ScriptedModel.from_file(path)
    assert caught.value.where == f"{path}:2"
    assert problem in caught.value.problem or problem == "."
    assert str(caught.value).count("\n") == 0


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        ScriptedModel.from_file(tmp_path / "absent.jsonl")
    with pytest.raises(DataError, match="directory"):
        ScriptedModel.from_file(tmp_path)


def test_identity_of_a_file_is_its_content(tmp_path: Path) -> None:
    first = ScriptedModel.from_file(rows(tmp_path, '{"id": "a", "reply": "A"}\n')).identity
    second = ScriptedModel.from_file(rows(tmp_path, '{"id": "a", "reply": "B"}\n')).identity
    assert first != second
    assert first == ScriptedModel.from_file(rows(tmp_path, '{"id": "a", "reply": "A"}\n')).identity
