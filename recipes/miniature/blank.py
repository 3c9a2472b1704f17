"""An untrained tiny model: LLaVA (CLIP with 16 tokens a picture, Llama 4 x 128), 1.6 million parameters.

The tokenizer is a byte-level BPE whose words are phrases: everything that varies (a number, a colour with its verb, a
letter with its colon, a verdict) is a token of its own, and whatever stands between is one token. A value follows the
token that names its bar, so that reading and comparing need one look; with `red`, ` is ` and `7` apart, the same model
did not learn to read a bar by its colour in five minutes.

The base of the rotary positions is 1,000, not 10,000: texts have 200 tokens at most, and more of a head's dimensions
tell neighbours apart.
"""

import itertools
import math
import random
from pathlib import Path
from typing import Any

import rows

from assay.fincharts.lite import COLOURS, SIZE, items, solution, written
from assay.fincharts.lite_critiques import perturb

PATCH = 28
CHAT = (
    "{% for message in messages %}<|{{ message['role'] }}|>{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}{% endfor %}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def build(folder: Path, seed: int) -> Path:
    """Write the checkpoint of a seed."""
    from transformers import CLIPImageProcessorPil, LlavaProcessor

    tokenizer = make_tokenizer()
    model = make_model(tokenizer, seed)
    images = CLIPImageProcessorPil(
        size={"shortest_edge": SIZE},
        crop_size={"height": SIZE, "width": SIZE},
        image_mean=[0.5] * 3,
        image_std=[0.5] * 3,
    )
    processor = LlavaProcessor(
        images,
        tokenizer,
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=CHAT,
    )
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def make_tokenizer() -> Any:
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    colours = "|".join(COLOURS)
    varying = "|".join(
        (
            r"Step \d+",
            rf", said (?:\d+|[A-D]|yes|no|nothing|{colours})(?![A-Za-z])",  # a claim beside what it is compared with
            r"\d+",
            rf"\b(?:{colours}) (?:is|shows) ",
            rf"\b(?:{colours}|yes|no)\b",
            r"(?<=\| )(?:Correct|Incorrect)",
            r"(?<=Judgement: )(?:Correct|Incorrect)",
            r"\n\n",
            r"(?<![A-Za-z])[A-D](?:: |(?![A-Za-z]))",
        )
    )
    tokenizer: Any = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(varying), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2000,
        min_frequency=20,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[],
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(), trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|end|>",
        pad_token="<|pad|>",
        additional_special_tokens=["<|user|>", "<|assistant|>", "<|system|>", "<image>"],
    )
    fast.chat_template = CHAT
    return fast


def _texts() -> list[str]:
    rng = random.Random(0)
    texts = [f"Step {number}: " for number in range(1, 13)] * 50 + [str(number) for number in range(100)] * 50
    for item in itertools.islice(items("tokenizer"), 3000):
        texts += [rows.question(item), written(solution(item)), *rows.captions(item, rng)[:2]]
        steps, _ = perturb(item, rng)
        texts += rows.critic_row(item, steps, shown=True)[:2]
        texts.append(rows.textual(item))
    return texts


def make_model(tokenizer: Any, seed: int) -> Any:
    import torch
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

    vision = CLIPVisionConfig(
        hidden_size=96,
        intermediate_size=384,
        num_hidden_layers=3,
        num_attention_heads=4,
        image_size=SIZE,
        patch_size=PATCH,
        projection_dim=96,
    )
    language = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        rope_parameters={"rope_type": "default", "rope_theta": 1000.0},
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    config = LlavaConfig(
        vision_config=vision,
        text_config=language,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
        image_seq_length=(SIZE // PATCH) ** 2,
        vision_feature_select_strategy="default",
        tie_word_embeddings=False,
    )
    torch.manual_seed(seed)
    model = LlavaForConditionalGeneration(config)
    # Wider than transformers' 0.02, which is made for widths in the thousands: with it, such models hardly start.
    for name, parameter in model.named_parameters():
        if parameter.ndim >= 2:
            words = "embed" in name and "patch" not in name
            torch.nn.init.normal_(parameter, std=0.06 if words else 0.8 / math.sqrt(parameter[0].numel()))
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    return model
