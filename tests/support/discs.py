"""Images of bright discs between bars: objects that a small detector learns in a second."""

import numpy as np

SETTINGS = {
    "window": (12, 12),
    "inset": (0.125,) * 4,
    "n_estimators": 60,
    "max_features": 50,
    "n_patches": 400,
    "n_background": 400,
    "random_state": 0,
}
OPTIONS = "--window 12x12 --inset 0.125 --trees 60 --features 50 --variations 400 --background 400"
_Y, _X = np.mgrid[:16, :16] - 7.5


def draw_patches(rng, n):
    """Discs on noise, each filling its patch, (n, 16, 16)."""
    noise = rng.normal(110.0, 22.0, size=(n, 16, 16))
    light, size = rng.uniform(40.0, 90.0, size=(n, 1, 1)), rng.uniform(22.0, 36.0, size=(n, 1, 1))
    return np.clip(noise + light * (size > _X**2 + _Y**2), 0, 255).astype(np.uint8)


def draw_scene(rng, shape=(80, 110)):
    """Bars and halves of discs on noise."""
    scene = rng.normal(110.0, 22.0, size=shape)
    y, x = np.mgrid[: shape[0], : shape[1]]
    for _ in range(12):
        high, wide = rng.permutation([rng.integers(3, 7), rng.integers(14, 40)])
        top, left = rng.integers(shape[0] - high), rng.integers(shape[1] - wide)
        scene[top : top + high, left : left + wide] += rng.choice([-60.0, 70.0])
    for _ in range(4):
        cy, cx = rng.uniform(10, shape[0] - 10), rng.uniform(10, shape[1] - 10)
        scene[((y - cy) ** 2 + (x - cx) ** 2 < rng.uniform(16, 80)) & (y < cy)] += 70.0
    return np.clip(scene, 0, 255).astype(np.uint8)


def paste_disc(rng, scene):
    """Put a disc on a scene, and return its box."""
    top, left = (int(rng.integers(2, side - 18)) for side in scene.shape)
    scene[top : top + 16, left : left + 16] = draw_patches(rng, 1)[0]
    return left, top, 16, 16
