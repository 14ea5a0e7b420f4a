"""Recorded motion: the recordings of the archive, and the pieces of them that the package holds.

``python -m benchmarks.vision_motions`` writes ``src/posterity/vision/datasets/data/motions.npz``.
"""

from __future__ import annotations

import csv
import io
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from posterity.vision import bodies

ARCHIVE = Path(__file__).parents[2] / "shared/data/vision/cmu_mocap_bvh30.zip"
PLACE = Path(__file__).parents[1] / "src/posterity/vision/datasets/data/motions.npz"
UNSEEN = ("08", "14", "86", "105")
"""Subjects to test on."""

COPIES = ("91",)
"""Subjects whose files are byte for byte those of another: 91 is 105."""

# Clip, first frame and number of frames at 15 per second.
PIECES = (
    ("02_01", 0, 43), ("02_06", 40, 140), ("05_02", 0, 140), ("07_04", 0, 56), ("08_01", 0, 35),
    ("09_01", 0, 18), ("09_12", 0, 120), ("13_11", 0, 52), ("13_26", 100, 150),
    ("13_29", 60, 200), ("14_24", 120, 150), ("16_11", 0, 67), ("16_19", 0, 51),
    ("35_01", 0, 45), ("35_02", 0, 51), ("35_03", 0, 53), ("35_04", 0, 54), ("35_17", 0, 21),
    ("86_01", 60, 160), ("105_19", 20, 100),
)  # fmt: skip


def read_recordings(archive: Path = ARCHIVE) -> list[bodies.Recording]:
    """All recordings of one person, but for copies."""
    with zipfile.ZipFile(archive) as unpacked, tempfile.TemporaryDirectory() as folder:
        index = io.StringIO(unpacked.read("clips.csv").decode())
        rows = [row for row in csv.DictReader(index) if row["subject"] not in COPIES]
        return [
            read_recording(unpacked, row, folder) for row in rows if row["group"] != "two_person"
        ]


def read_recording(unpacked: zipfile.ZipFile, row: dict[str, str], folder: str) -> bodies.Recording:
    """The recording of a row of the index, unpacked into a folder."""
    path = unpacked.extract(f"bvh/{row['group']}/{row['clip']}.bvh", folder)
    motion = bodies.read_bvh(path)
    return bodies.Recording(row["subject"], row["clip"], row["description"], motion)


def pack_pieces(recordings: list[bodies.Recording]) -> dict[str, np.ndarray]:
    """The arrays of the file in the package."""
    by_clip = {recording.clip: recording for recording in recordings}
    chosen = [by_clip[clip] for clip, _, _ in PIECES]
    skeleton = chosen[0].motion.skeleton
    is_angle = np.array([kind.endswith("rotation") for kind in skeleton.kinds])
    values = []
    for recording, (_, first, n) in zip(chosen, PIECES, strict=True):
        piece = recording.motion.values[2 * first : 2 * (first + n) : 2]
        wrapped = np.where(
            is_angle, (piece + 180.0) % 360.0 - 180.0, piece - is_root(skeleton) * piece[0]
        )
        whole = np.rint(100.0 * wrapped).astype(np.int64)
        assert np.abs(whole).max() < 1 << 15, recording.clip
        values.append(np.diff(whole, axis=0, prepend=0).astype(np.int16))
    return {
        "names": np.array(skeleton.names),
        "parents": skeleton.parents,
        "owners": skeleton.owners,
        "kinds": np.array(skeleton.kinds),
        "subjects": np.array([recording.subject for recording in chosen]),
        "clips": np.array([recording.clip for recording in chosen]),
        "descriptions": np.array([recording.description for recording in chosen]),
        "offsets": np.array([r.motion.skeleton.offsets for r in chosen], dtype=np.float32),
        "lengths": np.array([len(piece) for piece in values]),
        "values": np.concatenate(values),
    }


def is_root(skeleton: bodies.Skeleton) -> np.ndarray:
    """Which channels move the root sideways: recordings begin in the middle."""
    return np.array([kind in ("Xposition", "Zposition") for kind in skeleton.kinds])


if __name__ == "__main__":
    np.savez_compressed(PLACE, **pack_pieces(read_recordings()))
    print(f"{PLACE.stat().st_size:,} bytes")
