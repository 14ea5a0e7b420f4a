"""Declare ``posterity vision train-patches`` and ``classify-patches``."""

import typer

from posterity.cli import options as common
from posterity.cli import outcome
from posterity.vision.commands import options, patch_options


def train_patches(
    folder: patch_options.PatchFolder,
    out: patch_options.PatchModelOut = "patches.posterity",
    size: patch_options.Size = "60x60",
    hold_out: patch_options.HoldOut = 0.2,
    seed: common.Seed = 0,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Learn the classes of small images that show one thing each, from one folder per class."""
    height_and_width = options.parse_window(size)
    with outcome.report_errors():
        from posterity.cli import voice
        from posterity.vision.commands import train_patches as work

        plan = work.TrainPatchesRequest(folder, out, height_and_width, hold_out, seed, force)
        work.run(plan, voice.OutputPrinter(json))


def classify_patches(
    inputs: patch_options.PatchInputs,
    model: patch_options.PatchModel,
    out: patch_options.ClassesOut = None,
    jobs: options.Jobs = None,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Classify small images, with a probability for every class.

    Files that cannot be read are reported and skipped; the exit code is then 3.
    """
    if json and out == "-":
        raise typer.BadParameter(
            "--json prints to standard output, so classes need a file: add --out FILE."
        )
    with outcome.report_errors():
        from posterity.cli import voice
        from posterity.vision.commands import classify_patches as work

        plan = work.ClassifyPatchesRequest(tuple(inputs), model, out, jobs, force)
        work.run(plan, voice.OutputPrinter(json, aside=out == "-"))
