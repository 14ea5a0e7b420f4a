"""Declare the subcommands of ``posterity vision``; each is imported only when it runs."""

import typer

from posterity.cli import groups, outcome
from posterity.cli import options as common
from posterity.vision.commands import (
    depth_options,
    evaluate_command,
    label_commands,
    options,
    patch_commands,
    pose_options,
    track_commands,
    walk_options,
)

_TRAIN, _TRY = "Train on your data", "Try and score"

app = typer.Typer(
    cls=groups.PlainGroup,
    no_args_is_help=True,
    help="Objects, pixels, bodies and tracks in images, with probabilities.",
)


@app.command()
def detect(
    inputs: options.Inputs,
    model: options.Model = None,
    opencv: options.OpenCV = None,
    out: options.BoxesOut = None,
    draw: options.Draw = None,
    min_probability: options.MinProbability = None,
    min_size: options.MinSize = None,
    prior: options.Prior = None,
    video: options.Video = False,
    jobs: options.Jobs = None,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Find objects in images, in folders of images, or in a sequence of frames.

    Files that cannot be read are reported and skipped; the exit code is then 3.
    """
    if json and out == "-":
        raise typer.BadParameter(
            "--json prints to standard output, so boxes need a file: add --out FILE."
        )
    with outcome.report_errors():
        from posterity.cli import voice
        from posterity.vision.commands import detect as work

        plan = work.DetectRequest(
            inputs=tuple(inputs),
            model=model,
            opencv=opencv,
            out=out,
            draw=draw,
            min_probability=min_probability,
            min_size=min_size,
            prior=prior,
            video=video,
            jobs=jobs,
            force=force,
        )
        work.run(plan, voice.OutputPrinter(json, aside=out == "-"))


@app.command("body-parts")
def body_parts(
    inputs: depth_options.DepthInputs,
    model: depth_options.PartModel = None,
    out: depth_options.JointsOut = None,
    labels: depth_options.LabelsOut = None,
    draw: depth_options.DrawParts = None,
    min_probability: depth_options.MinJointProbability = 0.5,
    depth_unit: depth_options.DepthUnit = None,
    near: depth_options.Near = 0.0,
    far: depth_options.Far = 10.0,
    field_of_view: depth_options.FieldOfView = None,
    jobs: options.Jobs = None,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Find the parts of a body and its joints in depth images of one person.

    Files that cannot be read are reported and skipped; the exit code is then 3.
    """
    unit = depth_options.parse_unit(depth_unit)
    if json and out == "-":
        raise typer.BadParameter(
            "--json prints to standard output, so joints need a file: add --out FILE."
        )
    with outcome.report_errors():
        from posterity.cli import voice
        from posterity.vision.commands import body_parts as work

        plan = work.BodyPartsRequest(
            inputs=tuple(inputs),
            model=model,
            out=out,
            labels=labels,
            draw=draw,
            min_probability=min_probability,
            unit=unit,
            near=near,
            far=far,
            field_of_view=field_of_view,
            jobs=jobs,
            force=force,
        )
        work.run(plan, voice.OutputPrinter(json, aside=out == "-"))


@app.command()
def pose(
    inputs: pose_options.MaskInputs,
    model: pose_options.PoseModel = None,
    out: pose_options.PosesOut = None,
    draw: pose_options.DrawPoses = None,
    video: pose_options.PoseVideo = False,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Find the pose of a person from a silhouette, with all poses that it may show.

    Files that cannot be read are reported and skipped; the exit code is then 3.
    """
    if json and out == "-":
        raise typer.BadParameter(
            "--json prints to standard output, so joints need a file: add --out FILE."
        )
    with outcome.report_errors():
        from posterity.cli import voice
        from posterity.vision.commands import pose as work

        plan = work.PoseRequest(
            inputs=tuple(inputs), model=model, out=out, draw=draw, video=video, force=force
        )
        work.run(plan, voice.OutputPrinter(json, aside=out == "-"))


@app.command("train-detector", rich_help_panel=_TRAIN)
def train_detector(
    patches: options.Patches = None,
    scenes: options.Scenes = None,
    boxes: options.Boxes = None,
    images: options.Images = None,
    label: options.Label = None,
    out: options.DetectorOut = "detector.posterity",
    checkpoint: options.Checkpoint = None,
    resume: options.Resume = False,
    window: options.Window = "24x24",
    inset: options.Inset = "0",
    channels: options.ChannelsOption = options.Channels.GRAY,
    trees: options.Trees = 1000,
    features: options.Features = 600,
    variations: options.Variations = 10000,
    background: options.Background = 6000,
    mirror: options.Mirror = True,
    jobs: options.Jobs = None,
    seed: common.Seed = 0,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Learn a detector from patches and scenes, or from images with known boxes.

    A training that was interrupted goes on with --resume.
    """
    sizes = {"window": options.parse_window(window), "inset": options.parse_inset(inset)}
    if (patches is None) == (boxes is None):
        raise typer.BadParameter("objects are given by --patches DIR or by --boxes FILE.")
    if patches is not None and scenes is None:
        raise typer.BadParameter("--patches needs images without objects: add --scenes DIR.")
    if boxes is None and channels != options.Channels.GRAY:
        raise typer.BadParameter("two frames are only known with --boxes, not with --patches.")
    with outcome.report_errors():
        from posterity.cli import voice
        from posterity.vision.commands import train as work

        plan = work.TrainRequest(
            patches=patches,
            scenes=scenes,
            boxes=boxes,
            images=images,
            label=label,
            out=out,
            checkpoint=checkpoint,
            resume=resume,
            force=force,
            jobs=jobs,
            parameters={
                **sizes,
                "channels": channels.value,
                "n_estimators": trees,
                "max_features": features,
                "n_patches": variations,
                "n_background": background,
                "mirror": mirror,
                "random_state": seed,
            },
        )
        work.run(plan, voice.OutputPrinter(json))


@app.command()
def walk(
    masks: walk_options.Masks = None,
    model: walk_options.WalkModel = None,
    out: walk_options.WalkOut = "walk.svg",
    frames: walk_options.Frames = 30,
    sample: walk_options.Sample = False,
    interval: walk_options.Interval = None,
    seed: common.Seed = 0,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Animate the mean cycle of a walk, a walk at random, or the poses behind silhouettes."""
    if masks and sample:
        raise typer.BadParameter("choose --mask or --sample, not both.")
    with outcome.report_errors():
        from posterity.cli import voice
        from posterity.vision.commands import walk as work

        plan = work.WalkRequest(
            masks=tuple(masks or ()),
            model=model,
            out=out,
            frames=frames,
            sample=sample,
            interval=interval,
            seed=seed,
            force=force,
        )
        work.run(plan, voice.OutputPrinter(json))


@app.command(rich_help_panel=_TRY)
def demo(
    out: options.DemoOut = "posterity-vision-demo",
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Show all systems on generated data, on one page of pictures."""
    with outcome.report_errors():
        from posterity.cli import voice
        from posterity.vision.commands import demo as work

        work.run(out, voice.OutputPrinter(json), force=force)


app.command(rich_help_panel=_TRY)(evaluate_command.evaluate)
app.command("train-patches", rich_help_panel=_TRAIN)(patch_commands.train_patches)
app.command("classify-patches")(patch_commands.classify_patches)
app.command("train-segmenter", rich_help_panel=_TRAIN)(label_commands.train_segmenter)
app.command("segment")(label_commands.segment)
app.command("train-surfaces", rich_help_panel=_TRAIN)(label_commands.train_surfaces)
app.command("surfaces")(label_commands.surfaces)
app.command()(track_commands.track)
