"""Files that are damaged, or made to do harm, are refused with a sentence; none of them does."""

import contextlib
import hashlib
import io
import json
import tracemalloc
import zipfile

import model_files
import numpy as np
import pytest

from posterity import persistence

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def members(files):
    return model_files.unpacked(files["forest"][0])


def refused(data, path, match):
    path.write_bytes(data)
    tracemalloc.start()
    with pytest.raises(persistence.FileError, match=match):
        persistence.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * len(data) + (4 << 20)  # bytes


@pytest.mark.parametrize(
    "name",
    [
        "../../x",
        "/tmp/x",
        "arrays/../../x.npy",
        "arrays\\0.npy",
        "C:x",
        "x" * 300,
        "m\u00f6del",
        "",
    ],
)
def test_members_of_other_names_are_refused(name, members, tmp_path):
    refused(model_files.packed({**members, name: b"x"}), tmp_path / "model", "member|file")
    del members["arrays/0.npy"]
    refused(model_files.packed({**members, name: b"x"}), tmp_path / "model", "member|file")


def test_a_member_that_comes_twice_is_refused(members, tmp_path):
    for name in members:
        data = model_files.zipped([*members.items(), (name, members[name])])
        refused(data, tmp_path / "model", "two members|already")


def test_members_in_another_order_are_refused(members, tmp_path):
    refused(model_files.packed(dict(reversed(members.items()))), tmp_path / "model", "manifest")


def test_what_is_compressed_is_refused_however_small(members, tmp_path):
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        file.writestr("manifest.json", members["manifest.json"])
        file.writestr("model.json", b" " * (64 << 20))
    refused(bomb.getvalue(), tmp_path / "model", "compressed")


@pytest.mark.parametrize("offset", [6, 8], ids=["encrypted", "compressed"])
def test_flags_that_only_one_of_two_headers_has_are_refused(offset, files, tmp_path):
    data = files["forest"][0]
    for start, shift in ((data.index(b"PK\x03\x04"), 0), (data.index(b"PK\x01\x02"), 2)):
        changed = bytearray(data)
        changed[start + offset + shift] |= 1
        refused(bytes(changed), tmp_path / "model", "member")


def test_a_link_is_read_as_the_bytes_that_it_has(members, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(model_files.packed(members, external_attr=0o120777 << 16))
    with contextlib.suppress(persistence.FileError):
        persistence.load(path)
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("junk", [b"x", b"PK\x05\x06" + bytes(18)])
def test_what_was_put_before_or_behind_is_refused(junk, files, tmp_path):
    data = files["forest"][0]
    for changed in (junk + data, data + junk, data[:-22] + junk + data[-22:]):
        refused(changed, tmp_path / "model", "file|member")


@pytest.mark.parametrize("size", [10 << 30, 1 << 62, 0xFFFFFFFF])
def test_sizes_that_cannot_be_are_refused_before_memory_is_spent(size, files, tmp_path):
    members = model_files.unpacked(files["forest"][0])
    manifest = json.loads(members["manifest.json"])
    manifest["members"]["arrays/0.npy"]["size"] = size
    text = json.dumps(manifest).encode()
    data = model_files.packed({**members, "manifest.json": text}, announce=False)
    refused(data, tmp_path / "model", "bytes")


def test_an_array_that_claims_more_than_it_has_is_refused_before_memory_is_spent(members, tmp_path):
    for shape in ("(1310720000,)", "(0, 99999999999999999999)", "(4294967296, 4294967296)"):
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
        text = header.ljust(117).encode() + b"\n"
        part = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(80)
        refused(model_files.packed({**members, "arrays/0.npy": part}), tmp_path / "model", "arrays")


def test_an_array_that_claims_nothing_by_a_huge_axis_takes_no_memory(members, tmp_path):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4611686018427387903), }"
    text = header.ljust(117).encode() + b"\n"
    part = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
    refused(model_files.packed({**members, "arrays/0.npy": part}), tmp_path / "model", "")


@pytest.mark.parametrize("dtype", ["|O", ">f8", "<M8[s]", "<m8", "|V8", "<f16", "<U99999999"])
def test_arrays_of_other_types_are_refused(dtype, members, tmp_path):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': (1,), }}"
    text = header.ljust(117).encode() + b"\n"
    part = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(8)
    refused(model_files.packed({**members, "arrays/0.npy": part}), tmp_path / "model", "type|holds")


def test_a_pickle_in_the_place_of_an_array_is_not_opened(members, tmp_path, watched):
    marker = tmp_path / "was run"
    pickled = b"cpathlib\nPath\n(V" + str(marker).encode() + b"\ntR(tbtouch\n."
    place = io.BytesIO()
    np.save(place, np.array([{}], dtype=object), allow_pickle=True)
    for part in (pickled, place.getvalue(), b"\x80\x04."):
        with watched.watching() as found:
            data = model_files.packed({**members, "arrays/0.npy": part})
            with contextlib.suppress(OSError):
                (tmp_path / "model").write_bytes(data)
            found.clear()  # the file was written by the test itself
            with pytest.raises(persistence.FileError):
                persistence.load(tmp_path / "model")
            assert found == []
    assert not marker.exists()


@pytest.mark.parametrize("version", [2, 10**6, 0, -1, "1", None, 1.0, True])
def test_other_versions_of_the_format_are_refused(version, members, tmp_path):
    manifest = json.loads(members["manifest.json"])
    manifest["format_version"] = version
    data = model_files.packed({**members, "manifest.json": json.dumps(manifest).encode()})
    newer = isinstance(version, int) and version > 1
    refused(data, tmp_path / "model", "newer|upgrade" if newer else "version")


def test_a_hash_that_is_not_that_of_the_bytes_is_refused(members, tmp_path):
    for name in members:
        if name != "manifest.json":
            part = bytearray(members[name])
            part[-2] ^= 1
            data = model_files.packed({**members, name: bytes(part)}, announce=False)
            refused(data, tmp_path / "model", "hash|changed")


def circle(children):
    children[-1, 0] = 0
    return children


def beyond(numbers):
    numbers.reshape(-1)[0] = 10**6
    return numbers


def shorter(numbers):
    return numbers[:-1]


def narrow(numbers):
    return numbers.astype(np.float32)


@pytest.mark.parametrize(
    ("file", "cls", "field", "change"),
    [
        ("forest", "Trees", "children", circle),
        ("forest", "Trees", "children", beyond),
        ("forest", "Trees", "roots", beyond),
        ("forest", "Trees", "tests", beyond),
        ("forest", "Columns", "edges", shorter),
        ("forest", "Columns", "_n_edges", beyond),
        ("forest", "ClassForest", "base", shorter),
        ("forest_of_numbers", "NormalLeaves", "mean", shorter),
        ("sums", "Trees", "tests", beyond),
        ("sums", "Trees", "thresholds", narrow),
        ("logit_boost", "Steps", "tests", beyond),
        ("oriented", "Steps", "values", shorter),
        ("hard_tree", "SoftTree", "gates", shorter),
    ],
)
def test_numbers_that_compiled_code_would_follow_are_refused(
    file, cls, field, change, files, tmp_path
):
    members = model_files.unpacked(files[file][0])
    listed = json.loads(members["model.json"])["objects"]
    (entry,) = (one for one in listed if one.get("class", "").split(".")[-1] == cls)
    name = f"arrays/{entry['fields'][field]['array']}.npy"
    array = change(np.load(io.BytesIO(members[name])))
    data = model_files.packed({**members, name: model_files.written(array)})
    refused(data, tmp_path / "model", "contains an invalid")


@pytest.mark.parametrize("file", ["forest", "sums", "logit_boost"])
@pytest.mark.parametrize("width", [2, 4, 3.0, None])
def test_models_that_take_more_columns_than_they_know_are_refused(file, width, files, tmp_path):
    members = model_files.unpacked(files[file][0])
    document = json.loads(members["model.json"])
    (entry,) = (one for one in document["objects"] if "n_features_in_" in one.get("fields", {}))
    entry["fields"]["n_features_in_"] = width
    text = json.dumps(document).encode()
    refused(model_files.packed({**members, "model.json": text}), tmp_path / "model", "columns")


def document_of(objects, root, manifest):
    text = json.dumps({"objects": objects, "root": root}).encode()
    announced = {"model.json": {"size": len(text), "sha256": hashlib.sha256(text).hexdigest()}}
    first = {**json.loads(manifest), "members": announced}
    return model_files.zipped([("manifest.json", json.dumps(first).encode()), ("model.json", text)])


@pytest.mark.parametrize("kind", ["tuple", "list"])
def test_few_objects_that_stand_for_very_many_are_refused(kind, members, limits, tmp_path):
    doubled = [{kind: [1, 2]}, *({kind: [{"ref": i}, {"ref": i}]} for i in range(60))]
    for last in ({"dict": [[{"ref": 60}, 1]]}, {"list": [{"ref": 60}]}):
        limits()
        data = document_of([*doubled, last], {"ref": 61}, members["manifest.json"])
        refused(data, tmp_path / "model", "objects|keys")


def test_kernels_that_double_at_every_level_are_refused(members, limits, tmp_path):
    fields = {"held": {"ref": 0}, "limits": {"ref": 0}}
    leaf = {"class": "kernels.RBF", "fields": {**fields, "length_scale": 1.0, "ard": False}}

    def twice(i):
        parts = {**fields, "left": {"ref": i}, "right": {"ref": i}}
        return {"class": "kernels.Sum", "fields": parts}

    objects = [{"tuple": []}, leaf, *(twice(i) for i in range(1, 50))]
    limits()
    data = document_of(objects, {"ref": 50}, members["manifest.json"])
    refused(data, tmp_path / "model", "objects|values")


@pytest.mark.parametrize("deep", [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 900 + b"]" * 900])
def test_texts_that_nest_without_end_are_refused(deep, members, tmp_path):
    refused(model_files.packed({**members, "model.json": deep}), tmp_path / "model", "model.json")


def test_what_is_no_file_is_refused(tmp_path):
    for data in (b"", b"PK", b"PK\x05\x06" + bytes(18), b"hello", bytes(1000)):
        refused(data, tmp_path / "model", "file")
    with pytest.raises(persistence.FileError, match="not a file"):
        persistence.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        persistence.load(tmp_path / "nowhere")
