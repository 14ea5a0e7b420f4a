"""Demo of tracking: a textured ball that a bar hides for a while."""

from pathlib import Path

import numpy as np

from posterity import displays, vision
from posterity.vision.commands.demo.demonstration import Demonstration

_HIDDEN = (30, 58)
_CLOSE = 20.0  # pixels


def show_ball(folder: Path) -> Demonstration:
    """Follow a ball from its first frame, behind a bar and out again."""
    scene = vision.datasets.moving_object(90, hidden=(_HIDDEN,), turning=0.15, random_state=3)
    tracker = vision.DisplacementTracker().start(scene.frames[0], scene.boxes[0])
    found = [tracker.get_box(), *tracker.track(scene.frames[1:])]
    middles = np.array([(one.box[:2] + one.box[2:]) / 2.0 for one in found])
    truth = (np.asarray(scene.boxes)[:, :2] + np.asarray(scene.boxes)[:, 2:]) / 2.0
    near = np.mean(np.linalg.norm(middles - truth, axis=1) < _CLOSE)
    place = folder / "ball"
    place.mkdir(exist_ok=True)
    for k, frame in enumerate(scene.frames):
        vision.write_image(place / f"{k:03d}.png", frame)
    with displays.style():
        figure = vision.displays.TrackDisplay.from_track(
            [*scene.frames], found, objects=scene.boxes
        ).plot([0, 28, 44, 80])
    left, top, right, bottom = (round(float(number)) for number in scene.boxes[0])
    return Demonstration(
        "tracks",
        "Tracks",
        "Displacement experts learn from the first frame how a shifted window looks, and move the "
        "box; a verifier switches them off while a bar hides the ball.",
        figure,
        f"In {100 * near:.0f} % of {len(found)} frames the middle is within {_CLOSE:.0f} pixels of "
        "the true one (dashed box). The ellipse, which holds the middle with 90 %, grows while the "
        "ball is hidden.",
        (
            *("vision", "track", str(place)),
            *("--box", f"{left},{top},{right - left},{bottom - top}"),
        ),
    )
