"""Loading a checkpoint through transformers: model, tokenizer, picture processor, and what else is known about it."""

import hashlib
import json
import re
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from assay.errors import DataError, MissingExtra, UsageError, boundary
from assay.models.fingerprint import fingerprint
from assay.models.shipped import SHIPPED, shipped

# A name on the hub: owner and model. Anything else that is no folder is a mistyped path.
_HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


def library(name: str) -> Any:
    """An optional library, imported when needed and untyped: its annotations are too incomplete for strict checks.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as cause:
        raise MissingExtra("A model in this process (local:)", "local") from cause


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A checkpoint in memory.

    Attributes:
        model: the transformers model, in evaluation mode on its device.
        tokenizer: its tokenizer.
        processor: turns texts and pictures into tensors; None for a model without vision.
        template: the chat template (Jinja).
        context: tokens that prompt and reply may have together; None where the checkpoint doesn't say.
        ends: ids of the tokens that end a reply.
        pad: id of the token that shorter prompts of a batch are filled with, on the left.
        identity: see `assay.models.base.Model`.
        notes: what a reader of the results must know.
        folder: where its settings lie: tokenizer, processor, chat template.
    """

    model: Any
    tokenizer: Any
    processor: Any | None
    template: str
    context: int | None
    ends: frozenset[int]
    pad: int
    identity: str
    notes: tuple[str, ...] = ()
    folder: Path | None = None


def load_checkpoint(
    path: Path | str,
    *,
    device: str = "auto",
    dtype: str = "auto",
    revision: str | None = None,
    trust_remote_code: bool = False,
    processor: Any | None = None,
    chat_template: str | None = None,
) -> Checkpoint:
    """Load a checkpoint's folder, one that comes with the package, or a model's name on the hub.

    The folder of an adapter (LoRA) gives the checkpoint that it was trained on, with the adapter added to its weights.

    Args:
        path: the folder, a name in `SHIPPED`, or `owner/name`.
        device: `cpu`, `cuda:1`, ...; `auto` takes the first accelerator, else the processor.
        dtype: `float32`, `bfloat16`, `float16`; `auto` is the checkpoint's own, on a CPU float32.
        revision: commit or tag, for a name on the hub.
        trust_remote_code: run Python code that the checkpoint brings along.
        processor: used instead of the folder's own.
        chat_template: Jinja text, for a checkpoint that has none, or another one.

    Raises:
        MissingExtra: torch or transformers are not installed.
        UsageError: the folder is no checkpoint that can be used; the message says why.
    """
    torch, transformers = library("torch"), library("transformers")
    folder = _folder(path, revision)
    base = _base_of_adapter(folder)
    shape = folder if base is None or (folder / "config.json").is_file() else base
    options: dict[str, Any] = {"trust_remote_code": trust_remote_code}
    with boundary(UsageError, f"{folder} can't be loaded"), quiet():
        config: Any = transformers.AutoConfig.from_pretrained(shape, **options)
        vision = _has_vision(config)
        if config.is_encoder_decoder:
            raise UsageError(f"{folder} is an encoder-decoder model; only decoders can be run here.")
        if vision:
            processor = processor or _processor(shape, config, options)
        tokenizer: Any = processor.tokenizer if vision and processor is not None else None
        tokenizer = tokenizer or transformers.AutoTokenizer.from_pretrained(shape, **options)
        template = chat_template or _template(processor, tokenizer, folder)
        model = _model(folder, base, vision=vision, device=torch.device(_device(device)), dtype=dtype, options=options)
    ends = _ends(model, tokenizer)
    pad = _pad(tokenizer, ends)
    # What the checkpoint recommends (repetition penalty, top-k, ...) must not count: a request says all there is.
    model.generation_config = transformers.GenerationConfig(pad_token_id=pad)
    return Checkpoint(
        model=model,
        tokenizer=tokenizer,
        processor=processor if vision else None,
        template=template,
        context=_context(config, tokenizer),
        ends=ends,
        pad=pad,
        identity=_identity(path, [folder] if base is None else [folder, base], model, template, processor),
        folder=shape,
        notes=() if vision else (f"{folder.name} has no vision: it is asked without pictures",),
    )


def _folder(path: Path | str, revision: str | None) -> Path:
    folder = Path(path)
    if folder.is_dir():
        return folder
    if str(path) in SHIPPED:
        return shipped(str(path))
    if not _HUB_NAME.fullmatch(str(path)):
        raise DataError(str(path), "there is no such folder", "Name a checkpoint's folder, or owner/name on the hub")
    download = library("huggingface_hub").snapshot_download
    with boundary(UsageError, f"{path} is no folder, and can't be had from the hub"):
        return Path(download(str(path), revision=revision))


def _base_of_adapter(folder: Path) -> Path | None:
    """The checkpoint that an adapter was trained on; None where the folder holds a checkpoint of its own."""
    try:
        written = (folder / "adapter_config.json").read_bytes()
    except OSError:
        return None
    try:
        name = json.loads(written)["base_model_name_or_path"]
    except (ValueError, KeyError, TypeError) as cause:
        raise DataError(str(folder), "its adapter_config.json names no base model", "Save the adapter again") from cause
    return _folder(name, None)


def _model(
    folder: Path, base: Path | None, *, vision: bool, device: Any, dtype: str, options: Mapping[str, Any]
) -> Any:
    """The folder's model, or the base's with the folder's adapter, in evaluation mode on its device."""
    torch, transformers = library("torch"), library("transformers")
    loader: Any = transformers.AutoModelForImageTextToText if vision else transformers.AutoModelForCausalLM
    kind: Any = torch.float32 if dtype == "auto" and device.type == "cpu" else dtype
    model: Any = loader.from_pretrained(base or folder, dtype=kind, **options)
    if base is not None:
        model = _with_adapter(model, folder)
    return model.to(device).eval()


def _with_adapter(model: Any, folder: Path) -> Any:
    try:
        peft = import_module("peft")
    except ModuleNotFoundError as cause:
        raise MissingExtra("An adapter (LoRA)", "train") from cause
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft calls transformers by old names
        return peft.PeftModel.from_pretrained(model, str(folder)).merge_and_unload()


@contextmanager
def quiet() -> Generator[None]:
    """Without transformers' progress bars, which would tear ours apart."""
    logging = library("transformers.utils").logging
    enabled = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if enabled:
            logging.enable_progress_bar()


def _has_vision(config: Any) -> bool:
    known = library("transformers.models.auto.modeling_auto").MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    remote: dict[str, str] = getattr(config, "auto_map", None) or {}
    return config.model_type in known or "AutoModelForImageTextToText" in remote


def _processor(folder: Path, config: Any, options: dict[str, Any]) -> Any:
    """The folder's processor, with a picture processor in any case.

    Without torchvision, processors that also do videos don't load: AutoProcessor gives up, or gives back the tokenizer
    alone without a word, depending on what is written in the folder. Pictures need none of that.
    """
    try:
        processor = library("transformers").AutoProcessor.from_pretrained(folder, **options)
    except ImportError:
        return _processor_without_video(folder, config, options)
    if getattr(processor, "image_processor", None) is None:
        return _processor_without_video(folder, config, options)
    return processor


def _processor_without_video(folder: Path, config: Any, options: dict[str, Any]) -> Any:
    transformers, auto = library("transformers"), library("transformers.models.auto.processing_auto")
    name = auto.PROCESSOR_MAPPING_NAMES.get(config.model_type)
    base = None if name is None else auto.processor_class_from_name(name)
    if base is None:
        raise UsageError(f"{folder} has no processor for pictures; give one (`processor`).")

    def get_attributes(_: type) -> list[str]:
        return [attribute for attribute in base.get_attributes() if attribute != "video_processor"]

    pictures_only = type(base.__name__, (base,), {"get_attributes": classmethod(get_attributes)})
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **options)
    pictures = transformers.AutoImageProcessor.from_pretrained(folder, **options)
    return pictures_only(image_processor=pictures, tokenizer=tokenizer, chat_template=tokenizer.chat_template)


def _template(processor: Any | None, tokenizer: Any, folder: Path) -> str:
    template: Any = getattr(processor, "chat_template", None) or tokenizer.chat_template
    if isinstance(template, dict):  # several by name
        template = cast("dict[str, Any]", template).get("default")
    if not isinstance(template, str):
        raise UsageError(f"{folder} has no chat template; give one (`chat_template`), or take a chat model.")
    return template


def _device(device: str) -> str:
    if device != "auto":
        return device
    torch = library("torch")
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _ends(model: Any, tokenizer: Any) -> frozenset[int]:
    named: Any = model.generation_config.eos_token_id
    several = cast("list[Any]", named) if isinstance(named, list) else [named]
    return frozenset(token for token in (*several, tokenizer.eos_token_id) if isinstance(token, int))


def _pad(tokenizer: Any, ends: frozenset[int]) -> int:
    """The token that fills shorter prompts up; a tokenizer that has none takes one that ends a reply."""
    pad = next((token for token in (tokenizer.pad_token_id, *sorted(ends)) if token is not None), 0)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.convert_ids_to_tokens(pad)
    return pad


def _context(config: Any, tokenizer: Any) -> int | None:
    length: Any = getattr(config.get_text_config(decoder=True), "max_position_embeddings", None)
    if isinstance(length, int):
        return length
    # A tokenizer that does not know either says 10**30.
    return tokenizer.model_max_length if tokenizer.model_max_length < 10**9 else None


def _identity(path: Path | str, folders: Sequence[Path], model: Any, template: str, processor: Any | None) -> str:
    name = Path(path).resolve().name if Path(path).is_dir() else str(path)
    shown = "" if processor is None else processor.to_json_string()
    digest = hashlib.sha256("\x00".join((*map(fingerprint, folders), template, shown)).encode()).hexdigest()
    return f"local:{name}:{digest[:16]}:{str(model.dtype).removeprefix('torch.')}"
