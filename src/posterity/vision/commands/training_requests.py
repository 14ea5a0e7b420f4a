"""Declare the subcommands of ``posterity vision`` that train models, score them and show them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import typer

from posterity.cli.command import register_request
from posterity.cli.options import Force, Request, Seed, in_files
from posterity.vision.commands import picture_requests as options

_TRAIN, _TRY = "Train on your data", "Try and score"


@register_request(options.app, "train-detector", panel=_TRAIN)
class TrainDetectorRequest(Request):
    """Learn a detector from patches and scenes, or from images with known boxes.

    A training that was interrupted goes on with --resume.

    Attributes
    ----------
    patches : str, optional
        Folder of images that an object fills, all cut in the same way.
    scenes : str, optional
        Folder of images without objects. With --boxes optional: what lies outside of the boxes is
        used too.
    images : str, optional
        Folder that the names of images in --boxes are relative to. Default: that of the file of
        boxes.
    out : str, default="detector.posterity"
        File to save the detector to.
    checkpoint : str, optional
        File that holds the unfinished detector after every round. Default: the name of --out with
        .checkpoint. It is removed at the end.
    resume : bool, default=False
        Go on from the checkpoint, with the same data and options.
    window : str, default="24x24"
        Height and width of windows in pixels: the smallest size at which an object can be
        recognised.
    inset : str, default="0"
        Parts of a patch around the window: one fraction, or top, left, bottom and right.
    channels : str, default="gray"
        What windows show: gray values, two frames and their differences (motion), or the
        differences alone. Two frames need --boxes.
    trees : int, default=1000
        Number of trees.
    features : int, default=600
        Features drawn for each tree.
    variations : int, default=10000
        Number of varied patches: shifted, turned, scaled, of other contrast.
    background : int, default=6000
        Number of windows without object that each search of the scenes adds.
    mirror : bool, default=True
        Whether a mirrored object is an object.
    """

    patches: options.Folder = None
    scenes: options.Folder = None
    boxes: options.Boxes = None
    images: options.Folder = None
    label: options.Label = None
    out: options.ModelOut = "detector.posterity"
    checkpoint: Annotated[str | None, in_files(metavar="FILE")] = None
    resume: Annotated[bool, in_files("--resume")] = False
    window: Annotated[str, options.in_training(metavar="HxW")] = "24x24"
    inset: Annotated[str, options.in_training(metavar="FRACTIONS")] = "0"
    channels: Annotated[Literal["gray", "motion", "differences"], options.in_training()] = "gray"
    trees: options.Positive = 1000
    features: options.Positive = 600
    variations: options.TenOrMore = 10000
    background: options.TenOrMore = 6000
    mirror: Annotated[bool, options.in_training("--mirror/--no-mirror")] = True
    jobs: options.Jobs = None
    seed: Seed = 0
    force: Force = False

    @property
    def unfinished(self) -> Path:
        """File of the unfinished detector."""
        if self.checkpoint is not None:
            return Path(self.checkpoint)
        out = Path(self.out)
        return out.with_name(f"{out.stem}.checkpoint{out.suffix}")


class LearnRequest(Request):
    """Folders of images and labels that a model of pixels learns from.

    Attributes
    ----------
    images : str
        Folder of images.
    out : str
        File to save the model to.
    trees : int
        Largest number of trees.
    """

    noun: ClassVar[str]  # name of the model in sentences
    command: ClassVar[str]  # that uses the model
    example: ClassVar[tuple[str, ...]] = ("photo.jpg", "--out", "labels.png")  # of its options
    system: ClassVar[str]  # class of the model
    parameters: ClassVar[dict[str, str]]  # of the class, by the options that set them

    images: Annotated[str, typer.Option(metavar="DIR")]
    labels: options.Labels
    classes: options.ClassFile = None
    void: options.Void = options.NO_LABEL
    out: options.ModelOut
    jobs: options.Jobs = None
    seed: Seed = 0
    force: Force = False

    @property
    def folders(self) -> tuple[str, ...]:
        """Folders that are read."""
        return self.images, self.labels


@register_request(options.app, "train-segmenter", work="train_classes", panel=_TRAIN)
class TrainSegmenterRequest(LearnRequest):
    """Learn to label every pixel of photographs, such as grass, cow and sky.

    Attributes
    ----------
    textons : int, default=400
        Number of typical textures that are told from each other.
    folds : int, default=4
        Number of sums of trees that are averaged, each learned without one part of the images.
    smooth : bool, default=True
        Whether neighbouring pixels influence each other.
    """

    noun, command, system = "segmenter", "segment", "TextonSegmenter"
    parameters: ClassVar = {
        "n_textons": "textons",
        "n_estimators": "trees",
        "cv": "folds",
        "smooth": "smooth",
    }

    out: options.ModelOut = "segmenter.posterity"
    textons: options.Positive = 400
    trees: options.Positive = 400
    folds: Annotated[int, options.in_training(min=2)] = 4
    smooth: Annotated[bool, options.in_training("--smooth/--no-smooth")] = True


@register_request(options.app, "train-surfaces", work="train_classes", panel=_TRAIN)
class TrainSurfacesRequest(LearnRequest):
    """Learn the surfaces of scenes, such as ground, walls and sky, from labelled images."""

    noun, command, system = "surface layout", "surfaces", "SurfaceLayout"
    parameters: ClassVar = {"n_estimators": "trees"}

    out: options.ModelOut = "surfaces.posterity"
    trees: options.Positive = 100


@register_request(options.app, "train-patches", work="train_classes", panel=_TRAIN)
class TrainPatchesRequest(Request):
    """Learn the classes of small images that show one thing each, from one folder per class.

    Attributes
    ----------
    folder : str
        Folder with one subfolder of images for each class, named after the class.
    out : str, default="patches.posterity"
        File of the classifier.
    size : str, default="60x60"
        Height and width to which images are brought.
    hold_out : float, default=0.2
        Share of the images of each class that the classifier is first tested on.
    """

    command, example, system = "classify-patches", ("new_image.png",), "PatchClassifier"

    folder: Annotated[str, typer.Argument(metavar="FOLDER")]
    out: options.ModelOut = "patches.posterity"
    size: Annotated[str, typer.Option(metavar="HxW")] = "60x60"
    hold_out: Annotated[float, typer.Option(min=0.0, max=0.5)] = 0.2
    seed: Seed = 0
    force: Force = False

    @property
    def folders(self) -> tuple[str, ...]:
        """Folders that are read."""
        return (self.folder,)


@register_request(options.app, "evaluate", panel=_TRY)
class EvaluateRequest(Request):
    """Score a model on images that it was not trained on and whose contents are known.

    A detector is scored by known boxes (--boxes): detection rate, false positives, reliability. A
    segmenter or a surface layout is scored by images and labels (--images, --labels), and a patch
    classifier by one folder of images per class (--images): accuracy, log score, calibration.

    Attributes
    ----------
    model : str, optional
        Saved detector, segmenter, surface layout or patch classifier. Default: the detector of
        frontal faces that comes with the package.
    images : str, optional
        Folder of images. For a patch classifier it has one subfolder for each class; for a detector
        it is the folder that names in --boxes are relative to, by default that of the file of
        boxes.
    overlap : float, default=0.4
        A box is right if it shares at least this part of its area with a known box (intersection
        over union).
    out : str, optional
        File to write the scores to: .json for all, .csv for the curve of a detector or the table of
        classes.
    draw : str, optional
        File to write a picture of the scores and the reliability to, such as scores.png.
    """

    model: options.Model = None
    images: options.Folder = None
    boxes: options.Boxes = None
    labels: options.KnownLabels = None
    classes: options.ClassFile = None
    void: options.Void = options.NO_LABEL
    opencv: options.OpenCV = None
    label: options.Label = None
    overlap: Annotated[float, typer.Option(min=0.01, max=1.0)] = 0.4
    min_size: options.MinSize = None
    prior: options.Prior = None
    out: options.Out = None
    draw: options.OutFile = None
    jobs: options.Jobs = None
    force: Force = False

    def check_options(
        self, noun: str, *, needed: Sequence[str] = (), refused: Sequence[str] = ()
    ) -> None:
        """Ask for options that a kind of model, called ``noun``, needs; refuse those it lacks."""
        missing = [name for name in needed if getattr(self, name) is None]
        if missing:
            raise typer.BadParameter(f"a {noun} needs --{' and --'.join(missing)} to be scored.")
        for name in refused:
            if getattr(self, name) is not None:
                option = name.replace("_", "-")
                raise typer.BadParameter(f"--{option} has no meaning for a {noun}; leave it out.")


@register_request(options.app, "demo", panel=_TRY)
class DemoRequest(Request):
    """Show all systems on generated data, on one page of pictures.

    Attributes
    ----------
    out : str, default="posterity-vision-demo"
        Folder for the page, its pictures, and files to try commands on.
    """

    out: options.ModelOut = "posterity-vision-demo"
    force: Force = False
