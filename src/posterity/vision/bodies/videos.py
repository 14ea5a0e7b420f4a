"""Silhouettes of people in motion before a camera that stands still."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.vision.bodies import parts
from posterity.vision.bodies.cameras import Camera, Viewpoint
from posterity.vision.bodies.frames import Range, Recording
from posterity.vision.bodies.render import render_spheres

_STATURE = 1.75  # metres: silhouettes do not tell size
_SMALL_CAMERA = Camera(160, 160, 200.0)


@dataclass(frozen=True, eq=False)
class SilhouetteVideo:
    """Silhouettes of one person, frame by frame.

    Attributes
    ----------
    masks : ndarray of shape (T, H, W), bool
        Pixels of the person.
    joints : ndarray of shape (T, 16, 3)
        Joints relative to the middle of the hips, in the axes of the camera (right, down, forward),
        in metres, for a person of 1.75 m.
    """

    masks: NDArray[np.bool_]
    joints: Array


@dataclass(frozen=True)
class VideoSampler:
    """Draws bodies and viewpoints, one for each video.

    Parameters
    ----------
    camera : Camera
        Size of frames, and focal length.
    turn : pair of float, default=(-180, 180)
        Range of the angle from the direction that the person first faces, in degrees: 90 shows the
        left side.
    distance, height, pitch : pair of float
        Ranges of the viewpoint: metres, metres above the middle of the person, degrees downwards.
    girth : pair of float
        Range of bodies, relative to a slim person.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import vision
    >>> sampler = vision.bodies.VideoSampler(turn=(80.0, 100.0))
    >>> walk = vision.datasets.motions()[0]
    >>> video = sampler.render(walk, np.random.default_rng(0), frames=10)
    >>> video.masks.shape, video.joints.shape
    ((10, 160, 160), (10, 16, 3))
    """

    camera: Camera = _SMALL_CAMERA
    turn: Range = (-180.0, 180.0)
    distance: Range = (4.4, 5.2)  # so that feet are in the frame
    height: Range = (0.0, 0.4)
    pitch: Range = (-3.0, 6.0)
    girth: Range = (0.9, 1.2)

    def render(
        self,
        recording: Recording,
        rng: np.random.Generator,
        *,
        frames: int | None = None,
        every: int = 1,
        mirror: bool = False,
    ) -> SilhouetteVideo:
        """Silhouettes of a recording, from its beginning.

        Parameters
        ----------
        recording : Recording
        rng : Generator
        frames : int, optional
            Number of frames at most. None: all.
        every : int, default=1
            Take every so many frames.
        mirror : bool, default=False
            Exchange left and right.
        """
        poses, skeleton = recording.poses[::every][:frames], recording.motion.skeleton
        if mirror:
            poses = poses.mirror(skeleton)
        left, right = (skeleton.number_of(f"{side}UpLeg") for side in ("Left", "Right"))
        across = poses.positions[0, left] - poses.positions[0, right]
        heading = float(np.arctan2(-across[2], across[0]))
        view = Viewpoint(
            np.deg2rad(rng.uniform(*self.turn)),
            rng.uniform(*self.distance),
            rng.uniform(*self.height),
            np.deg2rad(rng.uniform(*self.pitch)),
        )
        body = recording.body.resize(_STATURE, rng.uniform(*self.girth))
        centres, joints = body.place(poses)
        hips = 0.5 * (poses.positions[:, left] + poses.positions[:, right]) * body.metres
        radii, labels = body.radii[: centres.shape[1]], body.parts[: centres.shape[1]]
        masks, places = [], []
        for spheres, own, root in zip(centres, joints, hips, strict=True):
            middle = own.mean(axis=0)
            seen = view.look_at(spheres, middle, heading)
            _, drawn = render_spheres(seen, radii, labels, self.camera)
            masks.append(drawn != parts.BACKGROUND)
            about = view.look_at(np.vstack([own, root]), middle, heading)
            places.append(about[:-1] - about[-1])
        return SilhouetteVideo(np.array(masks), np.array(places))
