"""Tiny checkpoints with random weights, built from a config and saved as folders: what `local:` is tested with.

The weights are drawn wide (0.3), so that logits are far apart and replies vary; a few hundred thousand parameters,
a second to build. Needs torch and transformers, not torchvision.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

WORDS = (
    "Answer: the price of gold is 12.5 million dollars, up 3 % from 2011. 答案：价格上涨了 😀 é ü <think> </think>\n"
)
CONTEXT = 256  # tokens that the tiny language models are built for

CHAT = (
    "{% for message in messages %}<|start|>{{ message['role'] }}\n"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}IMAGE{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)
STRING_CHAT = (  # the older kind: a message's content is a string
    "{% for message in messages %}{{ '<|start|>' + message['role'] + '\n' + message['content'] + '<|end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)


def build_llava(
    folder: Path,
    *,
    seed: int = 0,
    chat: str | None = None,
    context: int = CONTEXT,
    words: str = WORDS,
    vocabulary: int = 300,
) -> Path:
    """LLaVA: CLIP with 16 tokens a picture, Llama; template with content parts.

    Args:
        words, vocabulary: what the tokenizer is made of; texts like `words` have few tokens then.
    """
    from transformers import (
        CLIPImageProcessorPil,
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    template = CHAT.replace("IMAGE", "<image>\n") if chat is None else chat
    tokenizer = byte_tokenizer(["<image>"], template, words=words, vocabulary=vocabulary)
    vision = CLIPVisionConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=32,
        patch_size=8,
        projection_dim=32,
    )
    config = LlavaConfig(
        vision_config=vision,
        text_config=LlamaConfig(**_language(len(tokenizer), context)),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
        image_seq_length=16,
        tie_word_embeddings=False,
    )
    model = _seeded(LlavaForConditionalGeneration, config, seed, tokenizer)
    square = {"height": 32, "width": 32}
    images = CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=square)
    processor = LlavaProcessor(
        images,
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=tokenizer.chat_template,
    )
    return _save(folder, model, processor)


def build_idefics3(folder: Path, *, seed: int = 0) -> Path:
    """Idefics3: one tile of 4 tokens a picture, Llama; pictures of a batch are padded to one block of pixels."""
    from transformers import (
        Idefics3Config,
        Idefics3ForConditionalGeneration,
        Idefics3ImageProcessorPil,
        Idefics3Processor,
        LlamaConfig,
    )

    specials = ["<image>", "<fake_token_around_image>", "<global-img>", "<end_of_utterance>"]
    tokenizer = byte_tokenizer(specials, CHAT.replace("IMAGE", "<image>"))
    config = Idefics3Config(
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 32,
            "patch_size": 8,
        },
        text_config=LlamaConfig(**_language(len(tokenizer))),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        tie_word_embeddings=False,
    )
    model = _seeded(Idefics3ForConditionalGeneration, config, seed, tokenizer)
    images = Idefics3ImageProcessorPil(
        size={"longest_edge": 32}, max_image_size={"longest_edge": 32}, do_image_splitting=False
    )
    processor = Idefics3Processor(images, tokenizer, image_seq_len=4, chat_template=tokenizer.chat_template)
    return _save(folder, model, processor)


def build_qwen(folder: Path, *, seed: int = 0, context: int = CONTEXT) -> Path:
    """Qwen2.5-VL: positions in three dimensions, pictures of any size.

    Its processor can't be built without torchvision, so tokenizer and picture processor are saved apart.
    """
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration, Qwen2VLImageProcessorPil

    specials = ["<|vision_start|>", "<|image_pad|>", "<|vision_end|>", "<|video_pad|>"]
    tokenizer = byte_tokenizer(specials, CHAT.replace("IMAGE", "<|vision_start|><|image_pad|><|vision_end|>"))
    ids = dict(zip(specials, tokenizer.convert_tokens_to_ids(specials), strict=True))
    text = _language(len(tokenizer), context) | {
        "rope_parameters": {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0},
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
    }
    config = Qwen2_5_VLConfig(
        text_config=text,
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "out_hidden_size": text["hidden_size"],
            "patch_size": 14,
            "spatial_merge_size": 2,
            "window_size": 112,
            "fullatt_block_indexes": [1],
        },
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
        tie_word_embeddings=False,
    )
    model = _seeded(Qwen2_5_VLForConditionalGeneration, config, seed, tokenizer)
    images = Qwen2VLImageProcessorPil(size={"shortest_edge": 28 * 28, "longest_edge": 112 * 112})
    _save(folder, model, tokenizer)
    images.save_pretrained(folder)
    return folder


def build_text(folder: Path, *, seed: int = 0, chat: str | None = STRING_CHAT) -> Path:
    """A Llama without pictures; template with string contents, or none."""
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = byte_tokenizer([], chat)
    model = _seeded(LlamaForCausalLM, LlamaConfig(**_language(len(tokenizer))), seed, tokenizer)
    return _save(folder, model, tokenizer)


def _language(vocabulary: int, context: int = CONTEXT) -> dict[str, Any]:
    return {
        "vocab_size": vocabulary,
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": context,
        "tie_word_embeddings": False,
    }


def byte_tokenizer(
    specials: Sequence[str] = (), chat: str | None = None, *, words: str = WORDS, vocabulary: int = 300
) -> Any:
    """Byte-level BPE: every text has tokens, and most characters outside ASCII take several."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer.decoder = decoders.ByteLevel()  # pyright: ignore[reportAttributeAccessIssue]
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[],
        show_progress=False,
    )
    tokenizer.train_from_iterator([words], trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|end|>",
        pad_token="<|pad|>",
        additional_special_tokens=["<|start|>", *specials],
    )
    fast.chat_template = chat
    return fast


def _seeded(model_class: Any, config: Any, seed: int, tokenizer: Any) -> Any:
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = model_class(config)
        for parameter in model.parameters():
            if parameter.ndim > 1:
                torch.nn.init.normal_(parameter, std=0.3)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model.eval()


def _save(folder: Path, model: Any, processor: Any) -> Path:
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
