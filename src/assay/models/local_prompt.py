"""A request as the text and pictures that a checkpoint reads, and several of them as tensors."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.errors import AssayError, CallError, ImageError, UsageError, boundary
from assay.images import decode
from assay.models.local_checkpoint import Checkpoint
from assay.models.thinking import opened_by
from assay.types import ImagePart, Part, Request, TextPart

_PROBE = "probe of the chat template"

Content = Literal["parts", "string"]


class PromptError(CallError):
    """A request that can't be put to the checkpoint."""

    def __init__(self, message: str) -> None:
        super().__init__("bad_request", message)


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """What is tokenized.

    Attributes:
        text: the rendered conversation, up to where the model goes on; ends with the request's prefill.
        pictures: PIL pictures in the order of their places in the text.
        thinking: the mark of thinking that the text leaves open, if any.
    """

    text: str
    pictures: tuple[Any, ...]
    thinking: str


class Prompter:
    """Renders requests with a checkpoint's chat template.

    Templates disagree about a message's content: a list of parts or a string. Which one is found out by rendering a
    probe, and so is the text that stands for a picture: a template that drops pictures is an error, never a question
    asked blindly.

    Raises:
        UsageError: the template renders neither.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._tokenizer = checkpoint.tokenizer
        self._processor = checkpoint.processor
        self._template = checkpoint.template
        self._decoded = _Pictures()
        self._place: str = getattr(checkpoint.processor, "image_token", None) or ""
        self._content = self._probe_content()
        self._marker = "" if self._processor is None else self._probe_marker()

    def prompt(self, request: Request) -> Prompt:
        """Raises CallError for a picture or message that the checkpoint can't take."""
        text = self.text(request)
        return Prompt(text=text, pictures=tuple(map(self._decoded, _pictures(request))), thinking=opened_by(text))

    def text(self, request: Request) -> str:
        """`Prompt.text` alone, without a look at the pictures. Raises CallError as `prompt`."""
        count = len(_pictures(request))
        if count and not self._marker:
            what = "has no vision" if self._processor is None else "has a chat template that drops pictures"
            raise PromptError(f"The request holds {count} pictures, but the checkpoint {what}.")
        conversation = [self._message(message.role, message.parts) for message in request.messages]
        with boundary(PromptError, "the chat template refuses the messages"):
            text = self._continued(conversation, request.prefill) if request.prefill else self._render(conversation)
        if self._marker and text.count(self._marker) != count:
            raise PromptError(
                f"The prompt has {text.count(self._marker)} places for {count} pictures "
                f"({self._marker!r}). A message's text must not hold that mark."
            )
        return text

    def after_reply(self) -> str:
        """What the template writes behind an assistant's turn: the mark that ends it, and what leads to the next."""
        turns = [self._message(role, (TextPart(text=_PROBE),)) for role in ("user", "assistant")]
        return self._render(turns).rpartition(_PROBE)[2]

    def encode(self, prompts: Sequence[Prompt]) -> dict[str, Any]:
        """Tensors of one batch, padded on the left. Either all prompts have pictures or none.

        Raises:
            PromptError: the tokenizer or processor refuses them.
        """
        texts = [prompt.text for prompt in prompts]
        bos: str | None = self._tokenizer.bos_token
        options: dict[str, Any] = {
            "padding": True,
            "padding_side": "left",
            "return_tensors": "pt",
            # Most templates write the beginning-of-text token themselves; a second one changes the replies.
            "add_special_tokens": not (bos and texts[0].startswith(bos)),
        }
        with boundary(PromptError, "the processor refuses the prompt"):
            if prompts[0].pictures:
                pictures = [list(prompt.pictures) for prompt in prompts]
                encoded: Any = self._processor(text=texts, images=pictures, **options)  # pyright: ignore[reportOptionalCall]
            elif self._processor is not None:
                encoded = self._processor(text=texts, **options)
            else:
                encoded = self._tokenizer(texts, **options)
        return dict(encoded)

    # --------------------------------------------------------------------------------------------------

    def _render(self, conversation: list[dict[str, Any]], *, continued: bool = False) -> str:
        return self._tokenizer.apply_chat_template(
            conversation,
            chat_template=self._template,
            tokenize=False,
            add_generation_prompt=not continued,
            continue_final_message=continued,
        )

    def _continued(self, conversation: list[dict[str, Any]], prefill: str) -> str:
        """The conversation with an assistant turn that is not over. Templates like to strip it: put that right."""
        content = [{"type": "text", "text": prefill}] if self._content == "parts" else prefill
        text = self._render([*conversation, {"role": "assistant", "content": content}], continued=True)
        if text.endswith(prefill):
            return text
        if not (kept := prefill.strip()) or not text.endswith(kept):
            raise PromptError(f"The chat template can't continue an assistant turn that begins {prefill[:40]!r}.")
        return text.removesuffix(kept) + prefill

    def _message(self, role: str, parts: Sequence[Part]) -> dict[str, Any]:
        if self._content == "parts":
            content: Any = [
                {"type": "image"} if isinstance(part, ImagePart) else {"type": "text", "text": part.text}
                for part in parts
            ]
        else:
            content = "\n".join(self._place if isinstance(part, ImagePart) else part.text for part in parts)
        return {"role": role, "content": content}

    def _probe_content(self) -> Content:
        problem = ""
        for content in ("parts", "string"):
            said: Any = [{"type": "text", "text": _PROBE}] if content == "parts" else _PROBE
            try:
                with boundary(UsageError, "the chat template can't be rendered"):
                    text = self._render([{"role": "user", "content": said}])
            except AssayError as cause:
                problem = str(cause)
                continue
            # A template for strings may print the list as Python would.
            if _PROBE in text and "'type'" not in text:
                return content
            problem = problem or "the chat template drops a message's text"
        raise UsageError(f"The checkpoint can't be asked: {problem}. Give another template (`chat_template`).")

    def _probe_marker(self) -> str:
        """What a picture adds to the rendered text."""
        texts: list[str] = []
        for parts in ([{"type": "text", "text": _PROBE}], [{"type": "image"}, {"type": "text", "text": _PROBE}]):
            content: Any = parts
            if self._content == "string":
                content = "\n".join(part.get("text", self._place) for part in parts)
            texts.append(self._render([{"role": "user", "content": content}]))
        without, with_picture = texts
        start = next((i for i, (a, b) in enumerate(zip(without, with_picture, strict=False)) if a != b), len(without))
        end = with_picture.find(_PROBE, start)
        return with_picture[start:end].strip() if end > start else ""


def _pictures(request: Request) -> list[ImagePart]:
    return [part for message in request.messages for part in message.parts if isinstance(part, ImagePart)]


class _Pictures:
    """Decoded pictures, the last ones used: a search asks about the same picture dozens of times."""

    def __init__(self) -> None:
        self._held: OrderedDict[bytes, Any] = OrderedDict()
        self._pixels = 0

    def __call__(self, part: ImagePart) -> Any:
        if part.data in self._held:
            self._held.move_to_end(part.data)
            return self._held[part.data]
        try:
            image = decode(part.data)
        except ImageError as cause:
            raise PromptError(f"A picture can't be read: {cause}") from cause
        self._held[part.data] = image
        self._pixels += image.width * image.height
        while self._pixels > _MOST_PIXELS and len(self._held) > 1:
            _, old = self._held.popitem(last=False)
            self._pixels -= old.width * old.height
        return image


_MOST_PIXELS = 16_000_000
"""Of pictures that are held decoded: 48 MB."""
