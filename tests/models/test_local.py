"""Checkpoints in this process, on tiny models with random weights; what transformers gives by hand is the measure."""

import asyncio
import dataclasses
import io
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from PIL import Image

from assay.errors import CallError, DataError, UsageError
from assay.models.base import Model
from assay.models.local import LocalModel, roomy_batch
from assay.models.local_checkpoint import Checkpoint, load_checkpoint
from assay.types import ImagePart, Message, Part, Reply, Request, Sampling, TextPart
from support.tiny import CHAT, CONTEXT, STRING_CHAT, build_idefics3, build_llava, build_qwen, build_text

torch: Any = pytest.importorskip("torch", reason="needs torch: pip install 'assay[local]'")
transformers: Any = pytest.importorskip("transformers", reason="needs transformers: pip install 'assay[local]'")

pytestmark = pytest.mark.local

BUILDERS: dict[str, Callable[[Path], Path]] = {
    "llava": build_llava,
    "idefics3": build_idefics3,
    "qwen": build_qwen,
    "text": build_text,
}
VISION = ("llava", "idefics3", "qwen")


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("tiny")
    return {name: build(root / name) for name, build in BUILDERS.items()}


def picture(colour: str, width: int = 48, height: int = 32) -> ImagePart:
    """A picture in two halves, so that its content is more than one number."""
    image = Image.new("RGB", (width, height), colour)
    image.paste("white", (0, 0, width // 2, height // 2))
    file = io.BytesIO()
    image.save(file, "PNG")
    return ImagePart(
        key=f"{colour} {width}x{height}", media_type="image/png", width=width, height=height, data=file.getvalue()
    )


def ask(text: str, *pictures: ImagePart, **fields: Any) -> Request:
    rule: dict[str, Any] = {"max_tokens": 16, **fields.pop("sampling", {})}
    sampling = Sampling(**rule)
    parts: tuple[Part, ...] = (*pictures, TextPart(text=text))
    return Request(messages=(Message(role="user", parts=parts),), sampling=sampling, **fields)


def answers(model: LocalModel, *requests: Request) -> list[tuple[Reply, ...] | CallError]:
    """The answers to requests that are asked at the same time; closes the model."""

    async def run() -> list[tuple[Reply, ...] | BaseException]:
        try:
            return await asyncio.gather(*map(model.generate, requests), return_exceptions=True)
        finally:
            await model.close()

    found: list[tuple[Reply, ...] | CallError] = []
    for answer in asyncio.run(run()):
        if isinstance(answer, BaseException) and not isinstance(answer, CallError):
            raise answer
        found.append(answer)
    return found


def replies(model: LocalModel, *requests: Request) -> list[tuple[Reply, ...]]:
    found = answers(model, *requests)
    for answer in found:
        if isinstance(answer, CallError):
            raise answer
    return [answer for answer in found if not isinstance(answer, CallError)]


def texts(model: LocalModel, *requests: Request) -> list[list[str]]:
    return [[reply.text for reply in answer] for answer in replies(model, *requests)]


def problem(answer: tuple[Reply, ...] | CallError) -> CallError:
    assert isinstance(answer, CallError)
    return answer


def spoken(reply: Reply) -> str:
    assert reply.tokens is not None
    return "".join(token.text for token in reply.tokens)


class ByHand:
    """Greedy decoding with transformers' own `generate`, one request at a time."""

    def __init__(self, folder: Path) -> None:
        checkpoint = load_checkpoint(folder)  # its processor is what is not under test here
        self.tokenizer = checkpoint.tokenizer
        self.processor = checkpoint.processor or checkpoint.tokenizer
        loader = transformers.AutoModelForImageTextToText if checkpoint.processor else transformers.AutoModelForCausalLM
        self.model = loader.from_pretrained(folder, dtype=torch.float32).eval()

    def encode(self, text: str, pictures: Sequence[ImagePart] = ()) -> Any:
        opened = [Image.open(io.BytesIO(part.data)).convert("RGB") for part in pictures]
        options: dict[str, Any] = {"images": [opened]} if opened else {}
        return self.processor(text=[text], return_tensors="pt", **options)

    def greedy(self, inputs: Any, count: int) -> list[int]:
        out = self.model.generate(**inputs, max_new_tokens=count, do_sample=False)
        return out[0, inputs["input_ids"].shape[1] :].tolist()

    def logprobs(self, inputs: Any, ids: list[int]) -> Any:
        """Log-softmax over the vocabulary at each of `ids`, from one pass over the whole text."""
        inputs = dict(inputs)
        added = torch.tensor([ids])
        inputs["input_ids"] = torch.cat((inputs["input_ids"], added), dim=1)
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        if "mm_token_type_ids" in inputs:
            inputs["mm_token_type_ids"] = torch.cat((inputs["mm_token_type_ids"], torch.zeros_like(added)), dim=1)
        with torch.no_grad():
            logits = self.model(**inputs).logits[0, -len(ids) - 1 : -1]
        return logits.log_softmax(-1)


PLACE = {"llava": "<image>\n", "idefics3": "<image>", "qwen": "<|vision_start|><|image_pad|><|vision_end|>", "text": ""}


def rendered(kind: str, text: str, pictures: int = 0) -> str:
    """What the chat templates of `support.tiny` make of one user turn, written out."""
    return f"<|start|>user\n{PLACE[kind] * pictures}{text}<|end|>\n<|start|>assistant\n"


# --------------------------------------------------------------------------------------------------
# Against transformers by hand


@pytest.mark.parametrize(
    ("kind", "pictures"),
    [(kind, count) for kind in VISION for count in (0, 1, 2)] + [("text", 0)],
)
def test_greedy_replies_and_logprobs_are_those_of_transformers(
    folders: dict[str, Path], kind: str, pictures: int
) -> None:
    """Reported as 149: log-probabilities are the raw ones, whatever the temperature."""
    shown = [picture("red"), picture("blue", 32, 80)][:pictures]
    hand = ByHand(folders[kind])
    inputs = hand.encode(rendered(kind, "How much?", pictures), shown)
    ids = hand.greedy(inputs, 16)
    expected = hand.logprobs(inputs, ids)

    request = ask("How much?", *shown, top_logprobs=3)
    # A longer prompt beside it, so that this one is padded; top_k 1 at a high temperature draws the same tokens,
    # and its log-probabilities must be the model's all the same.
    company = ask("Something quite different: 答案 is longer", *shown, sampling={"temperature": 1.0}, seed=3)
    hot = msgspec.structs.replace(request, sampling=Sampling(max_tokens=16, temperature=5.0, top_k=1))
    (cold_reply,), _, (hot_reply,) = replies(LocalModel.open(folders[kind]), request, company, hot)

    for reply in (cold_reply, hot_reply):
        assert reply.text == hand.tokenizer.decode(ids, skip_special_tokens=True)
        ended = ids[-1] == hand.tokenizer.eos_token_id
        assert reply.finish == ("stop" if ended else "length")
        assert reply.usage is not None
        assert reply.usage.prompt_tokens == inputs["input_ids"].shape[1]
        assert reply.usage.completion_tokens == len(ids)
        assert reply.tokens is not None
        assert len(reply.tokens) == len(ids) - ended
        for place, token in enumerate(reply.tokens):
            assert token.logprob == pytest.approx(expected[place, ids[place]].item(), abs=1e-4)
            best = expected[place].topk(3).values.tolist()
            assert [value for _, value in token.top] == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize("kind", list(BUILDERS))
def test_a_prefill_is_continued(folders: dict[str, Path], kind: str) -> None:
    """Reported as 174: the model goes on in its turn, no new turn is opened."""
    shown = [] if kind == "text" else [picture("red")]
    prefill = "Step 1: the price\n"
    hand = ByHand(folders[kind])
    ids = hand.greedy(hand.encode(rendered(kind, "How much?", len(shown)) + prefill, shown), 12)
    request = ask("How much?", *shown, prefill=prefill, sampling={"max_tokens": 12})
    assert texts(LocalModel.open(folders[kind]), request) == [[hand.tokenizer.decode(ids, skip_special_tokens=True)]]


def test_the_order_of_pictures_counts(folders: dict[str, Path]) -> None:
    red, blue = picture("red"), picture("blue")
    first, second = texts(LocalModel.open(folders["qwen"]), ask("?", red, blue), ask("?", blue, red))
    assert first != second


# --------------------------------------------------------------------------------------------------
# Batches


@pytest.mark.parametrize("kind", list(BUILDERS))
def test_a_reply_does_not_depend_on_its_company(folders: dict[str, Path], kind: str) -> None:
    """Reported as 201: nothing but the last digit may differ between batch sizes."""
    shown = () if kind == "text" else (picture("red"),)
    more = () if kind == "text" else (picture("blue", 40, 90), picture("green"))
    requests = [
        ask("How much?", *shown, seed=1, top_logprobs=0),
        ask("价格 😀", *more, n=3, seed=2, sampling={"temperature": 1.0}, top_logprobs=1),
        ask("No picture here", seed=3, sampling={"temperature": 0.7, "top_p": 0.8, "max_tokens": 3}),
        ask("Again, and rather longer than the others", *shown, seed=4, sampling={"temperature": 1.5, "top_k": 5}),
    ]
    together = replies(LocalModel.open(folders[kind], max_wait_ms=200), *requests)
    alone = [replies(LocalModel.open(folders[kind], max_wait_ms=0), request)[0] for request in requests]
    assert [len(answer) for answer in together] == [1, 3, 1, 1]
    for answer, single in zip(together, alone, strict=True):
        for reply, other in zip(answer, single, strict=True):
            assert reply.text == other.text
            assert reply.usage == other.usage
            logprobs = [token.logprob for token in reply.tokens or ()]
            assert logprobs == pytest.approx([token.logprob for token in other.tokens or ()], abs=1e-4)


def test_draws_asked_at_once_or_one_by_one_are_the_same(folders: dict[str, Path]) -> None:
    """Reported as 188 and 194: draws are not copies of one."""
    at_once = ask("How much?", picture("red"), n=5, seed=7, sampling={"temperature": 1.0})
    one_by_one = [msgspec.structs.replace(at_once, n=1, index=index) for index in range(5)]
    (five,) = texts(LocalModel.open(folders["llava"], batch_size=3), at_once)  # in two batches
    assert five == [text for (text,) in texts(LocalModel.open(folders["llava"]), *one_by_one)]
    assert len(set(five)) == 5


def test_only_the_first_draw_carries_the_prompt(folders: dict[str, Path]) -> None:
    (answer,) = replies(LocalModel.open(folders["text"], batch_size=2), ask("How much?", n=5))
    usages = [reply.usage for reply in answer if reply.usage is not None]
    assert [usage.prompt_tokens > 0 for usage in usages] == [True, False, False, False, False]


def test_seeds(folders: dict[str, Path]) -> None:
    hot = {"temperature": 1.0}
    model = LocalModel.open(folders["text"])
    requests = [ask("How much?", seed=seed, sampling=hot) for seed in (1, 1, 2)]
    one, same, other = texts(model, *requests)
    assert one == same
    assert one != other


def test_every_request_keeps_its_own_rule(folders: dict[str, Path]) -> None:
    def rule(**sampling: Any) -> Request:
        return ask("How much?", seed=1, sampling=sampling)

    greedy, hot, one_kept, tiny_p, short, cold = texts(
        LocalModel.open(folders["text"], max_wait_ms=200),
        rule(),
        rule(temperature=3.0),
        rule(temperature=3.0, top_k=1),
        rule(temperature=3.0, top_p=1e-9),
        rule(max_tokens=4),
        rule(temperature=1e-30),
    )
    assert hot != greedy
    assert one_kept == tiny_p == cold == greedy
    assert greedy[0].startswith(short[0].rstrip("\ufffd"))


def test_the_checkpoints_own_settings_do_not_count(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "text"
    shutil.copytree(folders["text"], folder)
    settings = json.loads((folder / "generation_config.json").read_text())
    settings |= {"repetition_penalty": 9.0, "num_beams": 4, "do_sample": True, "top_k": 2, "max_length": 5}
    (folder / "generation_config.json").write_text(json.dumps(settings))
    request = ask("How much?")
    assert texts(LocalModel.open(folder), request) == texts(LocalModel.open(folders["text"]), request)


# --------------------------------------------------------------------------------------------------
# Ends of replies


def test_stop_strings_cut_text_and_tokens(folders: dict[str, Path]) -> None:
    request = ask("How much?", picture("red"), sampling={"max_tokens": 30}, top_logprobs=0)
    ((whole,),) = replies(LocalModel.open(folders["llava"]), request)
    place = len(whole.text) // 2
    stop = whole.text[place : place + 3]  # across tokens, since a token has two characters at most here
    sampling = Sampling(max_tokens=30, stop=("never there", stop))
    ((cut,),) = replies(LocalModel.open(folders["llava"]), msgspec.structs.replace(request, sampling=sampling))
    assert cut.text == whole.text[: whole.text.index(stop)]
    assert cut.finish == "stop"
    assert spoken(cut) == cut.text
    assert spoken(whole) == whole.text


def test_an_end_token_ends_the_reply(folders: dict[str, Path]) -> None:
    checkpoint = load_checkpoint(folders["text"])
    hand = ByHand(folders["text"])
    ids = hand.greedy(hand.encode(rendered("text", "How much?")), 16)
    end = next(token for place, token in enumerate(ids) if place > 5 and token not in ids[:place])
    model = LocalModel(dataclasses.replace(checkpoint, ends=frozenset({end})))
    ((reply,),) = replies(model, ask("How much?", top_logprobs=0))
    count = ids.index(end)
    assert reply.finish == "stop"
    assert reply.text == hand.tokenizer.decode(ids[:count], skip_special_tokens=True)
    assert reply.usage is not None
    assert reply.usage.completion_tokens == count + 1  # the end token was generated as well
    assert reply.tokens is not None
    assert len(reply.tokens) == count


def test_a_reply_ends_where_the_context_does(folders: dict[str, Path]) -> None:
    ((reply,),) = replies(LocalModel.open(folders["text"]), ask("x" * 200, sampling={"max_tokens": 1000}))
    assert reply.finish == "length"
    assert reply.usage is not None
    assert reply.usage.prompt_tokens + reply.usage.completion_tokens == CONTEXT


def test_thinking_that_the_template_opens_is_set_apart(tmp_path: Path) -> None:
    """Reported as 101: cut while thinking, there is no answer, and the finish says so."""
    chat = STRING_CHAT.replace("<|start|>assistant\n{% endif %}", "<|start|>assistant\n<think>\n{% endif %}")
    model = LocalModel.open(build_text(tmp_path / "thinker", chat=chat))
    ((reply,),) = replies(model, ask("How much?", top_logprobs=0))
    assert reply.finish == "length"
    assert reply.text == ""
    assert reply.reasoning == spoken(reply).strip() != ""


# --------------------------------------------------------------------------------------------------
# Requests that can't be answered, and their company


@pytest.mark.parametrize("kind", ["llava", "qwen"])
def test_one_bad_request_does_not_spoil_the_batch(folders: dict[str, Path], kind: str) -> None:
    """Reported as 208 and 171: a prompt that is too long fails alone, before it is run, and loses no picture."""
    good = ask("How much?", picture("red"))
    broken = ImagePart(key="k", media_type="image/png", width=1, height=1, data=b"\x89PNG no picture")
    found = answers(
        LocalModel.open(folders[kind], max_wait_ms=200),
        good,
        ask("x" * 400, picture("red")),
        ask("How much?", broken),
        ask(f"What does {PLACE[kind].strip()} mean?", picture("red")),
        ask("How much?", picture("red"), sampling={"extra": {"repetition_penalty": 1.1}}),
        ask("How much?", picture("red"), sampling={"temperature": -1.0}),
    )
    (alone,) = texts(LocalModel.open(folders[kind]), good)
    first = found[0]
    assert not isinstance(first, CallError)
    assert [reply.text for reply in first] == alone
    assert [problem(answer).kind for answer in found[1:]] == ["too_long", *["bad_request"] * 4]
    assert str(CONTEXT) in str(problem(found[1]))
    assert "can't be read" in str(problem(found[2]))
    assert "2 places for 1 pictures" in str(problem(found[3]))
    assert "repetition_penalty" in str(problem(found[4]))


def test_pictures_are_never_dropped_in_silence(folders: dict[str, Path], tmp_path: Path) -> None:
    """Reported as 176, and of a trainer as 170: a model that answers without seeing the picture."""
    model = LocalModel.open(folders["text"])
    assert model.notes == ("text has no vision: it is asked without pictures",)
    (blind,) = answers(model, ask("How much?", picture("red")))
    assert "no vision" in str(problem(blind))
    (dropped,) = answers(
        LocalModel.open(folders["llava"], chat_template=CHAT.replace("IMAGE", "")), ask("?", picture("red"))
    )
    assert "drops pictures" in str(problem(dropped))


def test_a_template_for_strings_takes_pictures_as_well(folders: dict[str, Path]) -> None:
    """Reported as 175: some templates want a list of parts, some a string."""
    shown = [picture("red"), picture("blue")]
    hand = ByHand(folders["llava"])
    text = "<|start|>user\n<image>\n<image>\nHow much?<|end|>\n<|start|>assistant\n"
    ids = hand.greedy(hand.encode(text, shown), 16)
    model = LocalModel.open(folders["llava"], chat_template=STRING_CHAT)
    assert texts(model, ask("How much?", *shown)) == [[hand.tokenizer.decode(ids, skip_special_tokens=True)]]


def test_a_template_may_refuse_a_message(folders: dict[str, Path]) -> None:
    chat = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system turns') }}{% endif %}" + STRING_CHAT
    request = ask("How much?")
    system = Message(role="system", parts=(TextPart(text="Be brief."),))
    refused = msgspec.structs.replace(request, messages=(system, *request.messages))
    good, bad = answers(LocalModel.open(folders["text"], chat_template=chat), request, refused)
    assert not isinstance(good, CallError)
    assert "no system turns" in str(problem(bad))


def out_of_memory_beyond(rows: int) -> Callable[[Any, Any], None]:
    def hook(_: Any, inputs: Any) -> None:
        if len(inputs[0]) > rows:
            raise torch.OutOfMemoryError("out of memory")

    return hook


@pytest.mark.parametrize(("rows", "answered"), [(2, True), (1, True), (0, False)])
def test_where_memory_runs_out_the_batch_is_halved(folders: dict[str, Path], rows: int, answered: bool) -> None:
    requests = [
        ask("How much?", n=3, seed=1, sampling={"temperature": 1.0}),
        ask("How many?", seed=2),
        ask("Which?", seed=3, sampling={"temperature": 1.0}),
    ]
    checkpoint = load_checkpoint(folders["text"])
    checkpoint.model.lm_head.register_forward_pre_hook(out_of_memory_beyond(rows))
    found = answers(LocalModel(checkpoint, max_wait_ms=200), *requests)
    if not answered:
        assert all("Memory ran out" in str(problem(answer)) for answer in found)
        return
    expected = texts(LocalModel.open(folders["text"]), *requests)
    for answer, alone in zip(found, expected, strict=True):
        assert not isinstance(answer, CallError)
        assert [reply.text for reply in answer] == alone
        assert [reply.usage is not None and reply.usage.prompt_tokens > 0 for reply in answer][1:] == [False] * (
            len(answer) - 1
        )


def test_numbers_that_are_none_are_a_failure(folders: dict[str, Path]) -> None:
    checkpoint = load_checkpoint(folders["text"])
    checkpoint.model.lm_head.weight.data.fill_(float("nan"))
    (answer,) = answers(LocalModel(checkpoint), ask("How much?"))
    assert problem(answer).kind == "malformed"


def test_a_failing_checkpoint_fails_its_requests_alone(folders: dict[str, Path]) -> None:
    checkpoint = load_checkpoint(folders["text"])

    def hook(_: Any, inputs: Any) -> None:
        if len(inputs[0]) > 1:
            raise IndexError("a fault of the model's code")

    checkpoint.model.lm_head.register_forward_pre_hook(hook)

    async def run() -> None:
        model = LocalModel(checkpoint)
        with pytest.raises(CallError, match="a fault of the model's code") as caught:
            await model.generate(ask("How much?", n=2))
        assert caught.value.kind == "server"
        assert len(await model.generate(ask("How much?"))) == 1  # the thread lives on
        await model.close()

    asyncio.run(run())


def test_closing(folders: dict[str, Path]) -> None:
    async def run() -> None:
        model: Model = LocalModel.open(folders["text"])
        asked = asyncio.create_task(model.generate(ask("How much?", sampling={"max_tokens": 200}, n=8)))
        await asyncio.sleep(0)
        await model.close()
        with pytest.raises(CallError, match="closed"):
            await asked
        with pytest.raises(CallError, match="closed"):
            await model.generate(ask("How much?"))
        await model.close()

    asyncio.run(run())


def test_a_cancelled_request_is_forgotten(folders: dict[str, Path]) -> None:
    async def run() -> None:
        model = LocalModel.open(folders["text"], max_wait_ms=50)
        given_up = asyncio.create_task(model.generate(ask("Never mind")))
        kept = asyncio.create_task(model.generate(ask("How much?")))
        await asyncio.sleep(0)
        given_up.cancel()
        assert len(await kept) == 1
        with pytest.raises(asyncio.CancelledError):
            await given_up
        await model.close()

    asyncio.run(run())


# --------------------------------------------------------------------------------------------------
# Loading


def test_identity_names_the_weights_the_template_and_the_number_format(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    """Reported as 186: a reply belongs to one model."""

    def identity(folder: Path, **options: Any) -> str:
        model = LocalModel.open(folder, **options)
        asyncio.run(model.close())
        return model.identity

    copied = tmp_path / "copy" / "text"
    shutil.copytree(folders["text"], copied)
    original = identity(folders["text"])
    assert original.startswith("local:text:")
    assert identity(copied) == original
    retrained = build_text(tmp_path / "retrained" / "text", seed=1)
    others = {
        identity(retrained),
        identity(copied, dtype="bfloat16"),
        identity(copied, chat_template=STRING_CHAT + " "),
        original,
    }
    assert len(others) == 4


def test_a_folder_without_chat_template_wants_one(tmp_path: Path) -> None:
    folder = build_text(tmp_path / "bare", chat=None)
    with pytest.raises(UsageError, match="no chat template"):
        LocalModel.open(folder)
    assert len(texts(LocalModel.open(folder, chat_template=STRING_CHAT), ask("How much?"))) == 1
    with pytest.raises(UsageError, match="can't be asked"):
        LocalModel.open(folder, chat_template="no place for the question")


@pytest.mark.parametrize("content", [None, "{}", '{"model_type": "no-such-model"}', "not JSON"])
def test_a_folder_that_is_no_checkpoint_is_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(UsageError, match="can't be loaded"):
        load_checkpoint(tmp_path)


def test_a_mistyped_path_is_not_looked_up_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder"):
        load_checkpoint(tmp_path / "none")
    with pytest.raises(DataError, match="no such folder"):
        load_checkpoint("./models/none")


def test_encoder_decoders_are_refused(tmp_path: Path) -> None:
    transformers.T5Config(d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2).save_pretrained(tmp_path)
    with pytest.raises(UsageError, match="encoder-decoder"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize("named", [True, False])
def test_a_picture_processor_loads_without_torchvision(folders: dict[str, Path], tmp_path: Path, named: bool) -> None:
    """Such a folder names its processor's class, which wants torchvision, or doesn't, and gets a tokenizer alone."""
    folder = tmp_path / "qwen"
    shutil.copytree(folders["qwen"], folder)
    path = folder / "preprocessor_config.json"
    settings = json.loads(path.read_text())
    settings["processor_class"] = "Qwen2_5_VLProcessor"
    if not named:
        del settings["processor_class"]
    path.write_text(json.dumps(settings))
    request = ask("How much?", picture("red"))
    assert texts(LocalModel.open(folder), request) == texts(LocalModel.open(folders["qwen"]), request)


def test_a_processor_can_be_given(folders: dict[str, Path]) -> None:
    processor = load_checkpoint(folders["llava"]).processor
    request = ask("How much?", picture("red"))
    given = LocalModel.open(folders["llava"], processor=processor)
    assert texts(given, request) == texts(LocalModel.open(folders["llava"]), request)


@pytest.mark.parametrize(
    ("device", "weights", "together"), [("cpu", 3_000_000, 128), ("cpu", 20_000_000, 8), ("cuda", 3_000_000, 8)]
)
def test_small_checkpoints_answer_many_at_once(device: str, weights: int, together: int) -> None:
    model = SimpleNamespace(device=torch.device(device), num_parameters=lambda: weights)
    checkpoint = Checkpoint(
        model=model, tokenizer=None, processor=None, template="", context=None, ends=frozenset(), pad=0, identity="x"
    )
    assert roomy_batch(checkpoint) == together
