"""A textured ball is followed behind a bar: boxes, ellipses, and whether it is seen.  [P8 Fig 8.15]

Displacement experts learn from the first frame how a shifted window looks, and move the box. While
the bar hides the ball the verifier switches the measurements off, so the ellipse of the middle
grows; when the ball is seen again, the box returns to it. True boxes are dashed.
"""

from pathlib import Path

from posterity import displays, vision

OUT = Path(__file__).parent / "out"

scene = vision.datasets.moving_object(90, hidden=((30, 58),), turning=0.15, random_state=3)
tracker = vision.DisplacementTracker().start(scene.frames[0], scene.boxes[0])
found = [tracker.get_box(), *tracker.track(scene.frames[1:])]

with displays.style():
    display = vision.displays.TrackDisplay.from_track(scene.frames, found, objects=scene.boxes)
    figure = display.plot([0, 28, 44, 80])
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "displacement_tracker.png")
