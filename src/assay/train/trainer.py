"""TRL's trainer with the loss of a critic, and which of a checkpoint's weights it moves."""

from collections.abc import Callable
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from assay.errors import RunError
from assay.models.local_checkpoint import library
from assay.train.collate import WEIGHTS
from assay.train.order import Order
from assay.train.recipe import Recipe

__all__ = ["CriticTraining", "adapter", "callback", "freeze_vision", "trainer_class", "trainer_settings"]


def trainer_class() -> Any:
    """TRL's trainer with what is ours. Made when it is needed, since importing TRL takes seconds."""
    return type("CriticTrainer", (CriticTraining, import_module("trl").SFTTrainer), {})


class CriticTraining:
    """What is ours in a trainer of transformers: order, loss, and what is saved. `trainer_class` mixes it in.

    The loss of a step is the weighted mean over all its tokens, however they are spread over batches. Averaging the
    means of batches, as is usual for checkpoints that don't take part in it (Qwen2.5-VL), would weigh the tokens of
    short rows more, and one batch of eight unlike eight batches of one.

    Args:
        order: which row comes when.
        options: of TRL's trainer.
    """

    accelerator: Any
    args: Any
    model: Any
    save_model: Any

    loss_is_scaled_for_ga = True  # by the weights of all batches of a step, below

    def __init__(self, *, order: Order, **options: Any) -> None:
        super().__init__(**options)
        self.order = order
        self.loss_sum: Any = library("torch").zeros((), device=self.accelerator.device)
        self.result_format: Any = None  # of what is being saved, if it is the run's result

    def _get_train_sampler(self, train_dataset: Any = None) -> Order:  # noqa: ARG002
        return self.order

    def get_batch_samples(self, epoch_iterator: Any, num_batches: int, device: Any) -> tuple[list[Any], Any]:
        batches: list[dict[str, Any]] = list(islice(epoch_iterator, num_batches))
        weight: Any = library("torch").zeros((), device=device)
        for batch in batches:
            weight += batch[WEIGHTS][:, 1:].sum().to(device)  # of the first token there is no prediction
        return batches, self.accelerator.reduce(weight, "sum")

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        if return_outputs:
            raise NotImplementedError("the logits are never built")
        weights = inputs.pop(WEIGHTS)
        outputs = model(**inputs, fused_lm_head=True)
        loss = -(outputs.log_probs * weights[:, 1:]).sum() / num_items_in_batch
        self.loss_sum += loss.detach()
        return loss * self.accelerator.num_processes  # gradients are averaged over processes

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """Write the weights alone: tokenizer and processor have not changed, and are copied in the end.

        A checkpoint that is gone on from has them by the names that the model has in memory. transformers' trainer
        would write the published names, find none of them when it loads, and go on from where the run began.
        """
        if not self.args.should_save:
            return
        model = self.accelerator.unwrap_model(self.model)
        if hasattr(model, "peft_config"):
            model.save_pretrained(output_dir, state_dict=state_dict)
            return
        if self.result_format is not None:
            state_dict = _cast(state_dict or model.state_dict(), self.result_format)
        published = self.result_format is not None
        model.save_pretrained(output_dir, state_dict=state_dict, save_original_format=published)

    def save_result(self, folder: str, number_format: str) -> None:
        """Write the weights as they are published, in a number format of PyTorch."""
        self.result_format = getattr(library("torch"), number_format)
        self.save_model(folder)
        self.result_format = None

    def _issue_warnings_after_load(self, load_result: Any) -> None:
        tied: Any = getattr(self.model, "all_tied_weights_keys", None) or ()
        odd = [*set(load_result.missing_keys).difference(tied), *load_result.unexpected_keys]
        if odd:
            raise RunError(f"The checkpoint has other weights than the model, {len(odd):,} of them: {odd[0]}, ...")

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        # transformers' own: TRL's writes a model card each time.
        import_module("transformers").Trainer._save_checkpoint(self, model, trial)  # noqa: SLF001


def _cast(state: dict[str, Any], number_format: Any) -> dict[str, Any]:
    """The weights in another number format; tied ones, which are one tensor, stay one."""
    known: dict[int, Any] = {}
    for tensor in state.values():
        if tensor.data_ptr() not in known:
            known[tensor.data_ptr()] = tensor.to(number_format) if tensor.is_floating_point() else tensor
    return {name: known[tensor.data_ptr()] for name, tensor in state.items()}


def trainer_settings(recipe: Recipe, checkpoints: Path, *, steps: int, precision: str) -> Any:
    """The recipe in the words of TRL.

    Args:
        checkpoints: folder of what the run goes on from.
        steps: of the whole run.
        precision: what is computed in, `bf16` or `float32`.
    """
    return import_module("trl").SFTConfig(
        output_dir=str(checkpoints),
        max_steps=steps,
        per_device_train_batch_size=recipe.batch_size,
        gradient_accumulation_steps=recipe.accumulate,
        learning_rate=recipe.lr,
        lr_scheduler_type="constant_with_warmup" if recipe.schedule == "constant" else recipe.schedule,
        warmup_steps=recipe.warmup if recipe.warmup < 1 else int(recipe.warmup),
        weight_decay=recipe.weight_decay,
        max_grad_norm=recipe.max_grad_norm,
        bf16=precision == "bf16",
        activation_checkpointing=recipe.gradient_checkpointing,
        gradient_checkpointing=None,  # the old name of the same
        seed=recipe.seed,
        save_strategy="steps" if recipe.save_every else "no",
        save_steps=recipe.save_every or 1,
        save_total_limit=recipe.keep_checkpoints + 1,  # the newest one is not known to be whole yet
        report_to="none",
        logging_strategy="no",
        log_level="error",
        disable_tqdm=True,
        dataloader_num_workers=0,
        dataloader_pin_memory=library("torch").cuda.is_available(),
        remove_unused_columns=False,
        max_length=None,  # the pre-flight has seen to it; TRL would cut
        dataset_kwargs={"skip_prepare_dataset": True},
    )


def callback(
    before_epoch: Callable[[int], None], after_step: Callable[[Any, Any], None], after_save: Callable[[Any], None]
) -> Any:
    """Passes on what happens between steps.

    Args:
        before_epoch: called with the epoch, from 0, whose rows are drawn next; of one that is gone on with, too.
        after_step: called with transformers' state and control.
        after_save: called with the state when a checkpoint is written.
    """
    base: Any = import_module("transformers").TrainerCallback

    class Between(base):
        def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
            before_epoch(int(state.epoch))  # 2.5 amid the third

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
            after_step(state, control)

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
            after_save(state)

    return Between()


def freeze_vision(model: Any) -> None:
    """Leave everything as it is but the language model and its head."""
    trained = {id(parameter) for part in _language(model) for parameter in part.parameters()}
    for parameter in model.parameters():
        parameter.requires_grad_(id(parameter) in trained)


def _language(model: Any) -> tuple[Any, Any]:
    return model.get_decoder(), model.get_output_embeddings()


def adapter(recipe: Recipe, model: Any) -> Any:
    """LoRA on all linear layers of the language model."""
    linear: Any = library("torch").nn.Linear
    decoder, _ = _language(model)
    place = next(name for name, module in model.named_modules() if module is decoder)
    kinds = sorted({name.rpartition(".")[2] for name, module in decoder.named_modules() if isinstance(module, linear)})
    return import_module("peft").LoraConfig(
        task_type="CAUSAL_LM",
        r=recipe.lora_rank,
        lora_alpha=recipe.lora_alpha,
        lora_dropout=recipe.lora_dropout,
        target_modules=rf"{place}\..*\.({'|'.join(kinds)})",
    )
