"""`--where` (reported case 105): a part of a benchmark asked and scored, named in the run and in every result."""

import json
from pathlib import Path

from support.command import PACKAGED, run
from support.servers import ChatServer

DATA = PACKAGED / "dynamath"


def test_a_run_on_a_part_says_so_and_keeps_to_it(tmp_path: Path) -> None:
    out = tmp_path / "part"
    with ChatServer(answer=lambda _call, _draw: '{"solution": "", "short answer": "B"}') as server:

        def ask(*more: str) -> tuple[int, str, str]:
            done = run(
                *("eval", "dynamath", "--data", DATA, "--out", out, "--json", "--no-probe"),
                *("--model", "test-model", "--base-url", server.url, *more),
            )
            return done.code, done.out, done.err

        code, text, errors = ask("--where", "variant=2", "--where", "question_type=multiple_choice")
        assert code == 0, errors
        result = json.loads(text)
        assert len(server.calls) == 1
        assert result["where"] == ["question_type=multiple_choice", "variant=2"]
        assert result["data"][0] == ("Only samples where question_type=multiple_choice and variant=2: 1 of 6.")
        assert (result["samples"], result["expected"], result["robust"]["correct"]) == (1, 1, 1)
        manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
        assert manifest["where"] == result["where"]

        # Another part, or the whole, is another run.
        code, _, errors = ask("--where", "variant=2")
        assert code != 0
        assert "where was" in errors
        assert ask()[0] != 0
        assert len(server.calls) == 1

    again = run("score", out, "--json")
    assert again.code == 0, again.err
    assert again.json["where"] == result["where"]
    assert (again.json["samples"], again.json["expected"]) == (1, 1)


def test_an_unknown_value_is_told_before_a_model_is_asked(tmp_path: Path) -> None:
    with ChatServer() as server:
        done = run(
            *("eval", "dynamath", "--data", DATA, "--out", tmp_path / "x", "--where", "variant=7"),
            *("--model", "test-model", "--base-url", server.url),
        )
        assert done.code != 0
        assert "no sample has variant=7. There is 1, 2." in done.err
        assert server.calls == []
