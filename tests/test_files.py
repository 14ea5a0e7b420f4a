"""A file is there whole, or as it was before."""

import os
import stat

import pytest

from posterity import files


def test_the_file_appears_when_the_block_ends_well(tmp_path):
    place = tmp_path / "a.bin"
    with files.replace_atomically(place) as file:
        file.write(b"whole")
        file.flush()
        assert not place.exists()
    assert place.read_bytes() == b"whole"
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_whatever_goes_wrong_the_old_file_stays_and_no_other_is_left(tmp_path, error):
    place = tmp_path / "a.bin"
    place.write_bytes(b"old")

    def interrupted():
        with files.replace_atomically(place) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        interrupted()
    assert place.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_permissions_are_those_of_the_old_file_or_of_a_new_one(tmp_path):
    place = tmp_path / "a.bin"
    mask = os.umask(0o027)
    try:
        with files.replace_atomically(place) as file:
            file.write(b"1")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    place.chmod(0o600)
    with files.replace_atomically(place) as file:
        file.write(b"2")
    assert stat.S_IMODE(place.stat().st_mode) == 0o600


def test_a_link_still_points_to_the_file_that_was_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    real, link = tmp_path / "folder" / "a.bin", tmp_path / "link"
    real.write_bytes(b"old")
    link.symlink_to(real)
    with files.replace_atomically(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_a_folder_that_is_not_there_is_named(tmp_path):
    def write():
        with files.replace_atomically(tmp_path / "nowhere" / "a.bin"):
            pass

    with pytest.raises(FileNotFoundError, match="nowhere"):
        write()
