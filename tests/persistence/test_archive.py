"""The container of model files: what it writes is a plain ZIP, and it reads nothing else."""

import hashlib
import io
import json
import struct
import zipfile
import zlib

import numpy as np
import pytest
from support.for_each import for_each

from posterity import persistence
from posterity.persistence import archive, npy, strict_json

HEADER = {"versions": {}, "summary": {}, "notes": []}
ARRAY = np.arange(6.0).reshape(2, 3)


def text_member(name="model.json", text=b'{"objects":[],"root":1}'):
    return archive.Member(name, len(text), lambda: iter((text,)))


def members():
    return [text_member(), npy.make_member("arrays/0.npy", ARRAY, "x")]


@pytest.fixture
def path(tmp_path):
    place = tmp_path / "model.posterity"
    with place.open("wb") as file:
        archive.write(file, HEADER, members())
    return place


def contents(path):
    with zipfile.ZipFile(path) as plain:
        return {name: plain.read(name) for name in plain.namelist()}


def rewrite(path, changed, *, change=lambda info: None, flags=0):
    """Write other members into a ZIP file, the manifest in agreement with them."""
    with zipfile.ZipFile(path, "w") as plain:
        for name, content in changed:
            info = zipfile.ZipInfo(name)
            change(info)
            plain.writestr(info, content)


def announced(changed, **more):
    """Members with a manifest that announces them."""
    said = {
        name: {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in changed
    }
    manifest = {"format": "posterity", "format_version": 1, **HEADER, "members": said, **more}
    return [("manifest.json", json.dumps(manifest).encode()), *changed]


def read_all(path):
    with archive.open_archive(path) as opened:
        for i in range(opened.n_arrays):
            with opened.open_member(f"arrays/{i}.npy") as reader:
                npy.read_array(reader)


def refused(path, words):
    with pytest.raises(persistence.FileError, match=words):
        read_all(path)


def test_a_file_is_a_plain_zip_that_others_read(path):
    with zipfile.ZipFile(path) as plain:
        assert plain.testzip() is None
        assert plain.namelist() == ["manifest.json", "model.json", "arrays/0.npy"]
        assert {info.compress_type for info in plain.infolist()} == {zipfile.ZIP_STORED}
    found = contents(path)
    np.testing.assert_array_equal(np.load(io.BytesIO(found["arrays/0.npy"])), ARRAY)
    manifest = json.loads(found["manifest.json"])
    for name, said in manifest["members"].items():
        assert said["size"] == len(found[name])
        assert said["sha256"] == hashlib.sha256(found[name]).hexdigest()


def test_members_come_back(path):
    with archive.open_archive(path) as opened:
        assert opened.n_arrays == 1
        assert opened.n_bytes == path.stat().st_size
        with opened.open_member("arrays/0.npy") as reader:
            np.testing.assert_array_equal(npy.read_array(reader), ARRAY)


def test_the_size_is_known_before_anything_is_written(path):
    assert archive.compute_size(HEADER, members()) == path.stat().st_size


@pytest.mark.parametrize("limit", ["ZIP64_LIMIT", "ZIP_FILECOUNT_LIMIT"])
def test_long_fields_of_large_files_are_read(limit, tmp_path, monkeypatch):
    monkeypatch.setattr(zipfile, limit, 1)
    place = tmp_path / "large"
    with place.open("wb") as file:
        archive.write(file, HEADER, members())
    assert b"PK\x06\x06" in place.read_bytes()
    with archive.open_archive(place) as opened, opened.open_member("arrays/0.npy") as reader:
        np.testing.assert_array_equal(npy.read_array(reader), ARRAY)


def test_a_file_that_was_cut_off_is_refused(path):
    whole = path.read_bytes()
    for n in (*range(0, len(whole), 7), *range(len(whole) - 25, len(whole))):
        path.write_bytes(whole[:n])
        refused(path, "truncated|not a model file")


def test_a_changed_byte_is_noticed_or_does_not_matter(path):
    whole = path.read_bytes()
    for i in range(0, len(whole), 3):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 0x55]) + whole[i + 1 :])
        try:
            with archive.open_archive(path) as opened:
                with opened.open_member("model.json") as reader:
                    text = reader.read(reader.left)
                with opened.open_member("arrays/0.npy") as reader:
                    found = npy.read_array(reader)
        except persistence.FileError:
            continue
        assert text == b'{"objects":[],"root":1}'
        np.testing.assert_array_equal(found, ARRAY)


@pytest.mark.parametrize("extra", [b"\0", b"PK\x05\x06" + bytes(18)])
def test_bytes_after_the_end_are_refused(path, extra):
    path.write_bytes(path.read_bytes() + extra)
    refused(path, r"truncated|no member|cannot be")


def test_bytes_between_the_members_are_refused(tmp_path):
    place = tmp_path / "gap"
    with place.open("wb") as file:
        file.write(b"PK\x03\x04 and whatever is hidden here")
        archive.write(file, HEADER, members())
    refused(place, "does not begin where")


def test_bytes_before_the_directory_are_refused(path):
    whole = path.read_bytes()
    at = whole.index(b"PK\x01\x02")
    moved = bytearray(whole[:at] + b"hidden" + whole[at:])
    struct.pack_into("<L", moved, len(moved) - 6, at + 6)
    path.write_bytes(moved)
    refused(path, "belong to no member")


def test_a_manifest_that_was_changed_is_refused(path):
    path.write_bytes(path.read_bytes().replace(b'"notes":[]', b'"notes":{}', 1))
    refused(path, "checksum")


def test_a_compressed_member_is_refused(path):
    found = list(contents(path).items())
    rewrite(path, found, change=lambda info: setattr(info, "compress_type", zipfile.ZIP_DEFLATED))
    refused(path, "compressed")


def test_an_encrypted_member_is_refused(path):
    whole = bytearray(path.read_bytes())
    at = whole.index(b"PK\x01\x02")
    whole[at + 8] |= 1
    path.write_bytes(whole)
    refused(path, "encrypted")


@pytest.mark.parametrize(
    "name", ["../evil", "/etc/passwd", "arrays/01.npy", "arrays/9.npy", "a\\b"]
)
def test_a_member_that_no_model_file_has_is_refused(path, name):
    found = [pair for pair in contents(path).items() if pair[0] != "manifest.json"]
    rewrite(path, announced([*found, (name, b"x")]))
    refused(path, "not in the manifest|missing")


def test_names_beyond_ascii_or_of_great_length_are_refused(path):
    for name in ("\u00e9", "x" * 100):
        rewrite(path, announced([("model.json", b"{}"), (name, b"x")]))
        refused(path, "flags|named")


def test_two_members_of_one_name_are_refused(path):
    found = list(contents(path).items())
    with pytest.warns(UserWarning, match="Duplicate"):
        rewrite(path, [*found, found[1]])
    refused(path, "two members named 'model.json'")


def test_a_member_that_was_not_announced_is_refused(path):
    rewrite(path, [*contents(path).items(), ("arrays/1.npy", b"x")])
    refused(path, r"arrays/1.npy.*not in the manifest")


@pytest.mark.parametrize("name", ["model.json", "arrays/0.npy"])
def test_a_missing_member_is_refused(path, name):
    rewrite(path, [pair for pair in contents(path).items() if pair[0] != name])
    refused(path, f"{name}.*missing")


def test_a_size_that_was_not_announced_is_refused(path):
    found = contents(path)
    rewrite(path, (found | {"model.json": found["model.json"] + b" "}).items())
    refused(path, "model.json has 24 bytes, but the manifest says 23")


def test_contents_that_were_changed_are_refused(path):
    found = contents(path)
    rewrite(path, (found | {"arrays/0.npy": found["arrays/0.npy"][:-1] + b"\1"}).items())
    refused(path, r"arrays/0.npy is damaged or was changed")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"format": "other"}, "not a posterity model"),
        ({"format_version": 2}, "newer posterity"),
        ({"format_version": 0}, "format version as 0"),
        ({"format_version": True}, "format version as True"),
        ({"members": []}, "which members"),
        ({"members": {"model.json": 3}}, "size and the hash"),
        ({"members": {"model.json": {"size": 2, "sha256": "0" * 63}}}, "no hash"),
        ({"members": {"model.json": {"size": 2.0, "sha256": "0" * 64}}}, "the manifest says"),
        ({"members": {}}, "not in the manifest"),
    ],
)
def test_a_manifest_that_cannot_be_is_refused(path, more, words):
    rewrite(path, announced([("model.json", b"{}")], **more))
    refused(path, words)


def test_the_manifest_comes_first(path):
    found = announced([("model.json", b"{}")])
    rewrite(path, reversed(found))
    refused(path, "first member is not manifest.json")


def test_a_directory_that_would_cost_memory_is_refused_before_it_is_read(path, monkeypatch):
    monkeypatch.setattr(archive, "_MAX_DIRECTORY", 10)
    refused(path, "more than 100,000 members")


def test_a_manifest_that_would_cost_memory_is_refused_before_it_is_read(path, monkeypatch):
    monkeypatch.setattr(archive, "_MAX_MANIFEST", 10)
    refused(path, r"manifest.json has .* bytes")


def test_too_many_arrays_are_refused_before_a_file_is_written(monkeypatch):
    monkeypatch.setattr(archive, "MAX_MEMBERS", 2)
    with pytest.raises(persistence.FileError, match="1 arrays, but a file can hold at most"):
        archive.compute_size(HEADER, members())


def test_a_folder_is_refused(tmp_path):
    refused(tmp_path, "not a file")


def test_the_refused_file_is_named(path):
    path.write_bytes(b"")
    refused(path, r"model\.posterity: This is not a model file")


def test_sizes_beyond_the_file_are_refused(path):
    whole = bytearray(path.read_bytes())
    at = whole.index(b"PK\x01\x02")
    struct.pack_into("<2L", whole, at + 20, 1 << 30, 1 << 30)
    path.write_bytes(whole)
    refused(path, "larger than the file")


def test_two_sizes_of_one_member_are_refused(path):
    whole = bytearray(path.read_bytes())
    struct.pack_into("<L", whole, whole.index(b"PK\x01\x02") + 20, 1)
    path.write_bytes(whole)
    refused(path, "conflicting sizes")


@for_each(
    ("text", "words"),
    [
        (b'{"a":1,"a":2}', "twice"),
        (b"[NaN]", "is not a number"),
        (b"[-Infinity]", "is not a number"),
        (b"[" * 100_000, "nested|Expecting"),
        (b"[" + b"1" * 1000 + b"]", "1000 digits"),
        (b"\xff", "model.json is not"),
        (b"{", "model.json is not"),
    ],
)
def test_json_that_no_model_file_has_is_refused(text, words):
    with pytest.raises(persistence.FileError, match=words):
        strict_json.read_json(text, "model.json")


def test_json_of_too_many_objects_is_refused_before_it_is_parsed(monkeypatch):
    monkeypatch.setattr(strict_json, "MAX_BRACKETS", 2)
    with pytest.raises(persistence.FileError, match="more than 2 objects"):
        strict_json.read_json(b"[[],[]]", "model.json")


def header_of(text, version=b"\1\0"):
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text


NUMBERS = b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "shorter"),
        (b"\x93NUMPY\1\0\xff\xff", "shorter"),
        (b"\x93NUMPY\2\0\xff\xff\xff\xff", "shorter"),
        (b"\x93NUMPY\7\0\2\0{}", "not in the NPY format"),
        (header_of(b"{"), "cannot be read"),
        (header_of(b"__import__('os')"), "cannot be read"),
        (header_of(b"(" * 5000), "cannot be read"),
        (header_of(b"{}"), "correct keys"),
        (header_of(NUMBERS.replace(b"<f8", b"|O")), "cannot contain"),
        (header_of(NUMBERS.replace(b"<f8", b"<M8[s]")), "cannot contain"),
        (header_of(NUMBERS.replace(b"<f8", b"<f16")), "cannot contain"),
        (header_of(NUMBERS.replace(b"<f8", b">f8")), "cannot contain"),
        (header_of(NUMBERS.replace(b"<f8", b"<U0")), "cannot contain"),
        (header_of(NUMBERS.replace(b"'<f8'", b"[('a', '|O')]")), "not a number"),
        (header_of(NUMBERS.replace(b"'<f8'", b"[('a', '<f8', (2,))]")), "not describe records"),
        (header_of(NUMBERS.replace(b"'<f8'", b"[('a', '<f8'), ('a', '<f8')]")), "already used"),
        (header_of(NUMBERS.replace(b"'<f8'", b"[]")), "not describe values"),
        (header_of(NUMBERS.replace(b"'<f8'", b"3")), "valid dtype"),
        (header_of(NUMBERS.replace(b"False", b"0")), "order"),
        (header_of(NUMBERS.replace(b"(2,)", b"2")), "shape"),
        (header_of(NUMBERS.replace(b"(2,)", b"(-2, -2)")), "shape"),
        (header_of(NUMBERS.replace(b"(2,)", b"(True, 2)")), "shape"),
        (header_of(NUMBERS.replace(b"(2,)", b"(1," + b"1," * 40 + b")")), "shape"),
        (header_of(NUMBERS.replace(b"(2,)", b"(0, 2**61, 2**61)")), "cannot be read"),
        (header_of(NUMBERS.replace(b"(2,)", b"(0, %d, %d)" % (2**61, 2**61))), "shape"),
        (header_of(NUMBERS.replace(b"(2,)", b"(10000000000,)")), "10,000,000,000 values"),
        (header_of(NUMBERS) + bytes(15), "has 15 bytes"),
        (header_of(NUMBERS) + bytes(17), "has 17 bytes"),
        (header_of(NUMBERS.replace(b"<f8", b"|b1")) + b"\1\2", "invalid booleans"),
        (header_of(NUMBERS.replace(b"<f8", b"<U1")) + b"\xff" * 8, "characters"),
    ],
)
def test_arrays_that_no_model_file_has_are_refused(path, content, words):
    rewrite(path, announced([("model.json", b"{}"), ("arrays/0.npy", content)]))
    refused(path, words)


@pytest.mark.parametrize("version", [b"\2\0", b"\3\0"])
def test_longer_headers_of_arrays_are_read(path, version):
    long = b"\x93NUMPY" + version + struct.pack("<L", len(NUMBERS)) + NUMBERS
    rewrite(path, announced([("model.json", b"{}"), ("arrays/0.npy", long + bytes(16))]))
    with archive.open_archive(path) as opened, opened.open_member("arrays/0.npy") as reader:
        np.testing.assert_array_equal(npy.read_array(reader), np.zeros(2))


def round_trip(array, tmp_path):
    place = tmp_path / "array"
    with place.open("wb") as file:
        archive.write(file, HEADER, [text_member(), npy.make_member("arrays/0.npy", array, "x")])
    with archive.open_archive(place) as opened, opened.open_member("arrays/0.npy") as reader:
        return npy.read_array(reader)


RECORDS = (
    np.full(3, 255, np.uint8)
    .repeat(16)
    .view(np.dtype([("first", "<u8"), ("share", "<f4")], align=True))
)
ARRAYS = [
    np.array(3.5),
    np.zeros((0, 3)),
    np.array([np.nan, -0.0, np.inf, 5e-324]),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(24.0).reshape(2, 3, 4),
    np.arange(12.0).reshape(3, 4)[:, 1:3],
    np.arange(12.0).reshape(3, 4)[:, 1:3].T,
    np.arange(5)[::-2],
    np.broadcast_to(np.float32(2.0), (3, 2)),
    np.array([True, False]),
    np.array(["a", "\U0001f600bc", ""]),
    np.array([b"a", b"bc"]),
    np.array([1 + 2j]),
    np.array([1, 2], dtype=">i4"),
    np.array([1, 2], dtype=np.uint8),
    np.array([1.5], dtype=np.float16),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.shape}")
def test_an_array_comes_back_as_it_was_in_memory_of_its_own(array, tmp_path):
    found = round_trip(array, tmp_path)
    assert found.dtype == array.dtype.newbyteorder("<")
    assert found.shape == array.shape
    assert found.tobytes() == array.astype(found.dtype).tobytes()
    assert found.flags.writeable
    assert found.flags.aligned
    if array.flags.c_contiguous or array.flags.f_contiguous:
        assert found.flags.c_contiguous == array.flags.c_contiguous
        assert found.flags.f_contiguous == array.flags.f_contiguous


def test_records_come_back_without_what_lay_between_their_fields(tmp_path):
    found = round_trip(RECORDS, tmp_path)
    assert found.dtype == RECORDS.dtype
    for name in RECORDS.dtype.names:
        assert found[name].tobytes() == RECORDS[name].tobytes()
    assert found.tobytes() == (b"\xff" * 12 + bytes(4)) * 3


def test_columns_that_lie_together_still_do(tmp_path):
    part = np.asfortranarray(np.arange(20.0).reshape(4, 5))[1:, 1:]
    assert round_trip(part, tmp_path).flags.f_contiguous
    assert round_trip(part.T, tmp_path).flags.c_contiguous


@for_each(
    "array",
    [np.array(["2020-01-01"], dtype="M8[D]"), np.array([object()]), np.zeros(1, np.longdouble)],
)
def test_arrays_of_other_things_are_refused_by_name(array):
    with pytest.raises(persistence.FileError, match=r"model\.when is an array of type"):
        npy.make_member("arrays/0.npy", array, "model.when")


def test_large_arrays_are_written_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(npy, "_PIECE", 64)
    member = npy.make_member("arrays/0.npy", np.arange(100.0), "x")
    pieces = [bytes(piece) for piece in member.pieces()]
    assert len(pieces) == 14
    assert sum(map(len, pieces)) == member.size
    assert zlib.crc32(b"".join(pieces)) == zlib.crc32(b"".join(map(bytes, member.pieces())))
    np.testing.assert_array_equal(round_trip(np.arange(100.0), tmp_path), np.arange(100.0))
