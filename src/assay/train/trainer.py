"""TRL's trainer with the loss of a critic, and which of a checkpoint's weights it moves."""

from collections.abc import Callable
from importlib import import_module
from itertools import islice
from typing import Any

from assay.errors import RunError
from assay.models.local_checkpoint import library
from assay.train.collate import WEIGHTS
from assay.train.recipe import Recipe

__all__ = ["adapter", "callback", "freeze_vision", "trainer_class"]


def trainer_class() -> Any:
    """TRL's trainer with our loss. Made when it is needed, since importing TRL takes seconds."""
    torch = library("torch")
    base: Any = import_module("trl").SFTTrainer

    class CriticTrainer(base):
        """The loss of a step is the weighted mean over all its tokens, however they are spread over batches.

        Averaging the means of batches, as is usual for checkpoints that don't take part in it (Qwen2.5-VL), would
        weigh the tokens of short rows more, and one batch of eight unlike eight batches of one.
        """

        loss_is_scaled_for_ga = True  # by the weights of all batches of a step, below

        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.loss_sum: Any = torch.zeros((), device=self.accelerator.device)
            self.result_format: Any = None  # of what is being saved, if it is the run's result

        def get_batch_samples(self, epoch_iterator: Any, num_batches: int, device: Any) -> tuple[list[Any], Any]:
            batches: list[dict[str, Any]] = list(islice(epoch_iterator, num_batches))
            weight: Any = torch.zeros((), device=device)
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
            self.result_format = getattr(torch, number_format)
            self.save_model(folder)
            self.result_format = None

        def _issue_warnings_after_load(self, load_result: Any) -> None:
            tied: Any = getattr(self.model, "all_tied_weights_keys", None) or ()
            odd = [*set(load_result.missing_keys).difference(tied), *load_result.unexpected_keys]
            if odd:
                raise RunError(f"The checkpoint has other weights than the model, {len(odd):,} of them: {odd[0]}, ...")

        def _save_checkpoint(self, model: Any, trial: Any) -> None:
            super(base, self)._save_checkpoint(model, trial)  # TRL's own writes a model card each time

    return CriticTrainer


def _cast(state: dict[str, Any], number_format: Any) -> dict[str, Any]:
    """The weights in another number format; tied ones, which are one tensor, stay one."""
    known: dict[int, Any] = {}
    for tensor in state.values():
        if tensor.data_ptr() not in known:
            known[tensor.data_ptr()] = tensor.to(number_format) if tensor.is_floating_point() else tensor
    return {name: known[tensor.data_ptr()] for name, tensor in state.items()}


def callback(after_step: Callable[[Any, Any], None], after_save: Callable[[Any], None]) -> Any:
    base: Any = import_module("transformers").TrainerCallback

    class Between(base):
        """Passes on what happens between steps."""

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
