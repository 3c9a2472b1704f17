"""Opening a model by its address."""

from pathlib import Path

import pytest

from assay.errors import DataError, UsageError
from assay.models import SCHEMES, open_model
from assay.models.base import Address, parse_address
from assay.models.openai import OpenAIModel, environment_key
from support.asking import ask, question
from support.servers import MakeServer


def test_every_scheme_of_an_address_can_be_opened() -> None:
    for scheme in SCHEMES:
        assert parse_address(f"{scheme}:x@http://host/v1").scheme == scheme


def test_server(make_server: MakeServer) -> None:
    server = make_server(api_key="secret-key")
    model = open_model(
        parse_address(f"openai:test-model@{server.url}"),
        api_key="secret-key",
        timeout=5,
        options={"max_tokens_field": "max_completion_tokens"},
    )
    assert isinstance(model, OpenAIModel)
    assert (model.identity, model.url) == ("openai:test-model", server.url)
    assert len(ask(model, question())) == 1
    assert "max_completion_tokens" in server.calls[0].body


def test_what_can_not_be_opened(tmp_path: Path) -> None:
    for scheme in ("local", "replay", "scripted"):
        with pytest.raises(DataError, match="no such"):
            open_model(Address(scheme=scheme, target=str(tmp_path / "absent")))
    with pytest.raises(UsageError, match="lacks a server"):
        open_model(Address(scheme="openai", target="m"))
    with pytest.raises(UsageError, match="'vllm' are unknown"):
        open_model(Address(scheme="vllm", target="m"))


def test_key_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ASSAY_API_KEY", "OPENAI_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    assert environment_key("127.0.0.1") is None
    monkeypatch.setenv("OPENAI_API_KEY", " of-openai\n")
    assert environment_key("api.openai.com") == "of-openai"
    # A provider's key is not sent to anybody else, however the address came about.
    assert environment_key("api.openai.com.example.org") is None
    assert environment_key("127.0.0.1") is None
    assert environment_key("api.deepseek.com") is None
    monkeypatch.setenv("DEEPSEEK_API_KEY", "of-deepseek")
    assert environment_key("api.deepseek.com") == "of-deepseek"
    monkeypatch.setenv("ASSAY_API_KEY", "ours")
    assert environment_key("api.deepseek.com") == environment_key("127.0.0.1") == "ours"


def test_key_from_the_environment_is_sent(make_server: MakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_API_KEY", "secret-key")
    server = make_server(api_key="secret-key")
    assert len(ask(open_model(parse_address(f"openai:test-model@{server.url}")), question())) == 1
