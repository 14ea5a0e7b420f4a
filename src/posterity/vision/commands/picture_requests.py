"""Declare the subcommands of ``posterity vision`` that look at pictures with a model.

Each is a request, whose work is in a module that is imported only when it runs. Options that
several commands share come first.
"""

from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from posterity.cli import command
from posterity.cli.command import register_request
from posterity.cli.options import Force, Request, Seed, in_files

in_training = partial(typer.Option, rich_help_panel="Training")
in_reading = partial(typer.Option, rich_help_panel="Reading depth")

Folder = Annotated[str | None, typer.Option(metavar="DIR")]
Model = Annotated[str | None, typer.Option("--model", "-m")]
Out = Annotated[str | None, in_files("--out", "-o")]
ModelOut = Annotated[str, in_files("--out", "-o")]
OutFile = Annotated[str | None, in_files()]
Metres = Annotated[float, in_reading(min=0.0, metavar="METRES")]
Video = Annotated[bool, typer.Option("--video")]
Positive = Annotated[int, in_training(min=1)]
TenOrMore = Annotated[int, in_training(min=10)]
Jobs = Annotated[int | None, typer.Option(min=1, help="Number of threads. Default: all cores.")]

_OPENCV_HELP = (
    "Cascade of OpenCV instead of a model. It has no probabilities: boxes of at least three "
    "windows are found, as by OpenCV's default."
)
_MIN_SIZE_HELP = "Least height of a box. Default: that of the window, as trained."
_PRIOR_HELP = (
    "Share of candidate boxes that show an object in your images; changes all probabilities. "
    "Default: as in the images that the probabilities were learned from."
)
_BOXES_HELP = (
    "Known boxes: a table with the columns image, x, y, w, h and optionally label, or a COCO file "
    "(.json)."
)
_LABELS_HELP = (
    "Folder of labels: for each image a picture of the same name up to the suffix, whose gray "
    "values or palette are numbers of classes."
)
_CLASSES_HELP = (
    "Names of the classes, one per line from 0, each with an optional colour such as #3cb44b. "
    "Default: classes.txt in the folder of labels, or above it, if there is one."
)
_VOID_HELP = "Number of pixels that are left out; may be given several times."
OpenCV = Annotated[str | None, typer.Option(metavar="XML", help=_OPENCV_HELP)]
MinSize = Annotated[float | None, typer.Option(min=1.0, metavar="PIXELS", help=_MIN_SIZE_HELP)]
Prior = Annotated[float | None, typer.Option(min=1e-6, max=1.0 - 1e-6, help=_PRIOR_HELP)]
Boxes = Annotated[str | None, typer.Option(help=_BOXES_HELP)]
Label = Annotated[
    str | None, typer.Option(help="Use only boxes with this label. Default: all boxes.")
]
_labels = typer.Option(metavar="DIR", help=_LABELS_HELP)
Labels = Annotated[str, _labels]
KnownLabels = Annotated[str | None, _labels]
ClassFile = Annotated[str | None, typer.Option(metavar="FILE", help=_CLASSES_HELP)]
Void = Annotated[list[int], typer.Option(min=0, help=_VOID_HELP)]
NO_LABEL: Any = (255,)  # a default that no one can change

app = typer.Typer(
    cls=command.PlainGroup,
    no_args_is_help=True,
    help="Objects, pixels, bodies and tracks in images, with probabilities.",
)


class PictureRequest(Request):
    """Pictures to work on, one after the other."""

    inputs: Annotated[list[str], typer.Argument(metavar="FILES...")]

    @property
    def is_single(self) -> bool:
        """Whether there is one picture, for which files are written and not folders."""
        return len(self.inputs) == 1 and not Path(self.inputs[0]).is_dir()


@register_request(app, "detect")
class DetectRequest(PictureRequest):
    """Find objects in images, in folders of images, or in a sequence of frames.

    Files that cannot be read are reported and skipped; the exit code is then 3.

    Attributes
    ----------
    inputs : list of str
        Images, and folders whose images are searched. With --video: one folder of frames, one
        animated file, or - for a stream of PGM or PPM images on standard input.
    model : str, optional
        Detector saved by train-detector. Default: the frontal faces that come with the package.
    out : str, optional
        File to write the boxes to, .json or .csv; - writes CSV to standard output.
    draw : str, optional
        File to write the image with its boxes to; a folder if there are several images.
    min_probability : float, optional
        Least probability of a box. Default: 0.5.
    video : bool, default=False
        The input is a sequence of frames in order.
    """

    stream = "boxes"

    model: Model = None
    opencv: OpenCV = None
    out: Out = None
    draw: OutFile = None
    min_probability: Annotated[float | None, typer.Option(min=0.0, max=1.0)] = None
    min_size: MinSize = None
    prior: Prior = None
    video: Video = False
    jobs: Jobs = None
    force: Force = False

    @property
    def is_single(self) -> bool:
        """Whether there is one image, which is drawn to a file and not to a folder."""
        return not self.video and super().is_single


@register_request(app, "body-parts")
class BodyPartsRequest(PictureRequest):
    """Find the parts of a body and its joints in depth images of one person.

    Files that cannot be read are reported and skipped; the exit code is then 3.

    Attributes
    ----------
    inputs : list of str
        Depth images, and folders of them: PNG, TIFF or PGM of 16 bits, or arrays of NumPy (.npy).
        Pixels without a reading, and the background, are 0.
    model : str, optional
        BodyPartForest saved by posterity.save. Default: the model that comes with the package.
    out : str, optional
        File to write the joints to, .json or .csv; - writes CSV to standard output.
    labels : str, optional
        File to write the part of each pixel to, .png (numbers with a palette) or .npy; a folder if
        there are several images. Pixels without a part are 255.
    draw : str, optional
        File to write a picture of parts, entropy and joints to; a folder if there are several
        images.
    min_probability : float, default=0.5
        Least probability of a joint: that it is within 10 cm.
    depth_unit : str, optional
        mm, cm, m, or a size in metres such as 0.0002. Default: mm for whole numbers, m for
        floating-point numbers.
    near : float, default=0
        Ignore what is nearer.
    far : float, default=10
        Ignore what is further away, such as the wall behind a person.
    field_of_view : float, optional
        Angle between the left and right edges of images. Default: that of the model; Kinect has
        58.6.
    """

    stream = "joints"

    model: Model = None
    out: Out = None
    labels: OutFile = None
    draw: OutFile = None
    min_probability: Annotated[float, typer.Option(min=0.0, max=1.0)] = 0.5
    depth_unit: Annotated[str | None, in_reading(metavar="UNIT")] = None
    near: Metres = 0.0
    far: Metres = 10.0
    field_of_view: Annotated[float | None, in_reading(min=1.0, max=179.0, metavar="DEGREES")] = None
    jobs: Jobs = None
    force: Force = False


@register_request(app, "pose")
class PoseRequest(PictureRequest):
    """Find the pose of a person from a silhouette, with all poses that it may show.

    Files that cannot be read are reported and skipped; the exit code is then 3.

    Attributes
    ----------
    inputs : list of str
        Masks of one person each, white on black, black on white or opaque on transparent, and
        folders of them. With --video: one folder of frames.
    model : str, optional
        SilhouettePose saved by posterity.save. The default is the model of the package.
    out : str, optional
        File to write the joints to, .json or .csv; - writes CSV to standard output.
    draw : str, optional
        File to write a picture of mask and skeletons to; a folder if there are several.
    video : bool, default=False
        The masks are successive frames in the order of their names, about 15 a second; each is
        judged by all.
    """

    stream = "joints"

    model: Model = None
    out: Out = None
    draw: OutFile = None
    video: Video = False
    force: Force = False


@register_request(app, "walk")
class WalkRequest(Request):
    """Animate the mean cycle of a walk, a walk at random, or the poses behind silhouettes.

    Attributes
    ----------
    mask : list of str
        Folder of masks of a person, white on black, black on white or opaque, one for each frame,
        in the order of their names. Repeat it for several motions. Default: the mean cycle of the
        model.
    model : str, optional
        WalkingModel saved by posterity.save. Default: the model that comes with the package, of a
        person seen from the right side.
    out : str, default="walk.svg"
        Output file; format from its extension: an animation (.svg, .gif), or a table of joints
        with standard deviations (.csv).
    frames : int, default=30
        Frames of a cycle, or of a random walk.
    sample : bool, default=False
        Draw a walk at random instead of the mean cycle.
    interval : float, optional
        Time between frames. Default: that of the frames the model was fitted to, and for the cycle
        its period over the number of frames.
    """

    mask: Annotated[list[str] | None, typer.Option(metavar="FOLDER")] = None
    model: Model = None
    out: ModelOut = "walk.svg"
    frames: Annotated[int, typer.Option(min=2, max=2000)] = 30
    sample: Annotated[bool, typer.Option("--sample")] = False
    interval: Annotated[float | None, typer.Option(min=0.001, metavar="SECONDS")] = None
    seed: Seed = 0
    force: Force = False


class PixelRequest(PictureRequest):
    """Images whose pixels are labelled.

    Attributes
    ----------
    inputs : list of str
        Images, and folders whose images are labelled.
    model : str, optional
        Model that was trained before.
    out : str, optional
        PNG file to write labels to; a folder if there are several images. Pixels are the numbers
        of classes, shown in colours.
    entropy : str, optional
        File, .png or .npy, to write the entropy of each pixel to, from 0 (sure) to 1; a folder if
        there are several images.
    probabilities : str, optional
        File, .npy, to write all probabilities to; a folder if there are several images.
    classes : str, optional
        Classes with the colours in which labels are written.
    """

    system: ClassVar[str]  # class of the model
    command: ClassVar[str]
    trained_by: ClassVar[str]

    model: Model = None
    out: Out = None
    entropy: OutFile = None
    probabilities: OutFile = None
    classes: Annotated[str | None, typer.Option(metavar="FILE")] = None
    jobs: Jobs = None
    force: Force = False


@register_request(app, "segment", work="classify")
class SegmentRequest(PixelRequest):
    """Label every pixel of photographs, with a probability for every class.

    Files that cannot be read are reported and skipped; the exit code is then 3.
    """

    system, command, trained_by = "TextonSegmenter", "segment", "train-segmenter"


@register_request(app, "surfaces", work="classify")
class SurfacesRequest(PixelRequest):
    """Label the surfaces of scenes, with a probability for every pixel.

    Files that cannot be read are reported and skipped; the exit code is then 3.
    """

    system, command, trained_by = "SurfaceLayout", "surfaces", "train-surfaces"


@register_request(app, "classify-patches", work="classify")
class ClassifyPatchesRequest(PictureRequest):
    """Classify small images, with a probability for every class.

    Files that cannot be read are reported and skipped; the exit code is then 3.

    Attributes
    ----------
    inputs : list of str
        Images that show one thing each, and folders of them.
    model : str
        Classifier saved by train-patches.
    out : str, optional
        Output file, .csv or .json; - writes CSV to standard output.
    """

    stream = "classes"
    system = "PatchClassifier"

    model: Annotated[str, typer.Option("--model", "-m", metavar="FILE")]
    out: Annotated[str | None, in_files("--out", "-o", metavar="FILE")] = None
    jobs: Jobs = None
    force: Force = False


@register_request(app, "track")
class TrackRequest(Request):
    """Follow an object from a box in the first frame, with an ellipse around its middle.

    For frames that cannot be read the box is predicted; the exit code is then 3.

    Attributes
    ----------
    source : str
        Folder of frames in the order of their names, an animated file (GIF, WebP, PNG, TIFF), or -
        for a stream of PGM or PPM images on standard input.
    box : str
        Left, top, width and height of the object in the first frame, in pixels.
    out : str, optional
        File to write the track to, .json or .csv; - writes CSV to standard output.
    draw : str, optional
        Folder to write the frames with box and 90 % ellipse to, or an animation, .gif.
    """

    stream = "tracks"

    source: Annotated[str, typer.Argument(metavar="FRAMES")]
    box: Annotated[str, typer.Option(metavar="X,Y,W,H")]
    out: Out = None
    draw: OutFile = None
    force: Force = False
