"""Training examples as chat rows that trainers read."""

from assay.solve.generative import critique_message
from assay.train.chat import broken_marks, without_places
from assay.train.records import ChatRow, Example
from assay.types import Message, TextPart

__all__ = ["chat_row"]


def chat_row(example: Example) -> ChatRow:
    """What a generative critic is trained on: asked just as `solve.generative.GenerativeCritic` will ask it.

    Marks of pictures are taken out of the question (`without_places`) and broken elsewhere (`broken_marks`).
    """
    asked = Message(role="user", parts=(TextPart(text=without_places(example.question, len(example.images))),))
    (prompt,) = (part for part in critique_message([asked], example.steps).parts if isinstance(part, TextPart))
    return ChatRow(
        id=example.id,
        group=example.group,
        images=example.images,
        prompt=broken_marks(prompt.text),
        completion=broken_marks(example.critique),
        labels=example.labels,
    )
