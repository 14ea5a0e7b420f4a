"""Model files taken apart, changed, and put together again so that sizes and hashes are right."""

import copy
import hashlib
import io
import json
import warnings
import zipfile

import numpy as np

NUMBERS = [0, 1, -1, 2, 255, 2**31 - 1, -(2**31), 2**40, 2**63 - 1, 0.0, 0.5, -1.5, 1e-300, 1e308]
VALUES = [
    *NUMBERS,
    None,
    True,
    False,
    "",
    "x",
    "../../x",
    "__class__",
    "os.system",
    [],
    {},
    [[]],
    {"float": "nan"},
    {"float": "inf"},
    {"int": "f" * 50},
    {"int": "zz"},
    {"scalar": ["<f4", 1.0]},
    {"scalar": ["|O", 1.0]},
    {"dtype": "|O"},
    {"type": "object"},
    {"bytes": "00"},
    {"ref": 0},
    {"ref": 10**6},
    {"ref": -1},
    {"array": 0},
    {"array": 10**6},
    {"function": "os.system"},
    {"function": "builtins.eval"},
    {"class": "builtins.object", "fields": {}},
    {"slice": [0, 1, None]},
]
NAMES = [
    "os.system",
    "subprocess.Popen",
    "builtins.eval",
    "sklearn.pipeline.Pipeline",
    "posterity.kernels.RBF",
    "kernels.Sum",
    "trees.Columns",
    "trees.structure.Trees",
    "Trees",
    "NormalFit",
    "displays.TrackDisplay",
    "",
    "own.Bump",
]


def unpacked(data):
    """The members of a file by name, in order."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def packed(members, announce=True, **attributes):
    """A file of these members, of which the manifest tells the truth if it is to announce."""
    members = dict(members)
    if announce:
        manifest = json.loads(members["manifest.json"])
        manifest["members"] = {
            name: {"size": len(part), "sha256": hashlib.sha256(part).hexdigest()}
            for name, part in members.items()
            if name != "manifest.json"
        }
        members["manifest.json"] = json.dumps(manifest).encode()
    return zipped(members.items(), **attributes)


def zipped(pairs, **attributes):
    """A ZIP file of names and bytes, where a name may come twice."""
    place = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(place, "w", zipfile.ZIP_STORED) as file:
        warnings.simplefilter("ignore", UserWarning)
        for name, part in pairs:
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, 0o600 << 16
            for attribute, value in attributes.items():
                setattr(info, attribute, value)
            file.writestr(info, part)
    return place.getvalue()


def places(document, path=()):
    """Where the values of a document stand, each as a way through it."""
    if path:
        yield path
    if isinstance(document, dict):
        for key in document:
            yield from places(document[key], (*path, key))
    elif isinstance(document, list):
        for i, part in enumerate(document):
            yield from places(part, (*path, i))


def at(document, path):
    for step in path:
        document = document[step]
    return document


def changed_document(document, rng):
    """The same with one or two values changed, moved, left out or renamed."""
    result = copy.deepcopy(document)
    for _ in range(rng.integers(1, 3)):
        ways = list(places(result))
        way = ways[rng.integers(len(ways))]
        home, step = at(result, way[:-1]), way[-1]
        match rng.integers(6):
            case 0:
                del home[step]
            case 1:
                home[step] = copy.deepcopy(at(result, ways[rng.integers(len(ways))]))
            case 2 if isinstance(home, dict):
                home[f"{step}x" if rng.random() < 0.5 else "__dict__"] = home.pop(step)
            case 3 if isinstance(home, list):
                home.insert(step, copy.deepcopy(VALUES[rng.integers(len(VALUES))]))
            case 4:
                renamed(result, rng)
            case _:
                home[step] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
    return result


def renamed(document, rng):
    """One object of another class."""
    listed = document.get("objects")
    known = listed if isinstance(listed, list) else []
    entries = [entry for entry in known if isinstance(entry, dict) and "class" in entry]
    if entries:
        names = [entry["class"] for entry in entries] + NAMES
        entries[rng.integers(len(entries))]["class"] = names[rng.integers(len(names))]


def changed_array(part, rng):
    """Another array: of other numbers, another shape or another type."""
    array = np.load(io.BytesIO(part))
    match rng.integers(5):
        case 0 if array.size:
            flat = array.reshape(-1).copy()
            for _ in range(rng.integers(1, 4)):
                flat[rng.integers(flat.size)] = extreme(array, rng)
            array = flat.reshape(array.shape)
        case 1:
            array = array[: rng.integers(len(array) + 1)] if array.ndim else array[None]
        case 2:
            array = array[..., None] if rng.random() < 0.5 else array.reshape(-1)
        case 3:
            types = ["<f4", ">f8", "<i8", "<i4", "|u1", "|b1", "<U3", "<c16", "<f2"]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                array = np.zeros(array.shape, dtype=types[rng.integers(len(types))])
        case _:
            array = np.concatenate([array, array]) if array.ndim else array
    return written(array)


def extreme(array, rng):
    """A number at the end of what the type holds, or near the sizes that are about."""
    if array.dtype.kind == "f":
        return [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e300, 3.0][rng.integers(7)]
    if array.dtype.kind in "iu":
        ends = np.iinfo(array.dtype)
        near = [ends.min, ends.max, max(ends.min, -1), 0, len(array) % ends.max, 1, 2, 3]
        return near[rng.integers(len(near))]
    return array.reshape(-1)[0]


def written(array):
    place = io.BytesIO()
    np.save(place, array, allow_pickle=False)
    return place.getvalue()


def changed_header(part, rng):
    """Other words in front of the same numbers."""
    words = [
        (b"'shape': (", b"'shape': (9"),
        (b"'shape': (", b"'shape': (-"),
        (b"<f8", b"|O8"),
        (b"<f8", b"<f4"),
        (b"<f8", b">f8"),
        (b"<i4", b"<i8"),
        (b"False", b"True "),
        (b"descr", b"desrc"),
        (b"'shape'", b"'sh\xffpe'"),
        (b"{", b"__import__('os').system('true') or {"),
        (b"NUMPY\x01", b"NUMPY\x03"),
        (b"NUMPY\x01", b"NUMPY\x09"),
    ]
    old, new = words[rng.integers(len(words))]
    return part.replace(old, new, 1)


def changed_bytes(data, rng):
    """Bits turned over, or a piece cut out, put in, repeated or blotted out."""
    a, b = sorted(rng.integers(len(data) + 1, size=2))
    b = min(b, a + 40)
    match rng.integers(6):
        case 0 | 1:
            mutable = bytearray(data)
            for place in rng.integers(len(data), size=rng.integers(1, 4)):
                mutable[place] ^= 1 << rng.integers(8)
            return bytes(mutable)
        case 2:
            return data[:a]
        case 3:
            return data[:a] + data[b:]
        case 4:
            return data[:b] + data[a:]
        case _:
            return data[:a] + rng.bytes(b - a) + data[b:]


def changed_file(data, rng):
    """A file that is damaged, or that is not and says other things."""
    members = unpacked(data)
    arrays = [name for name in members if name.endswith(".npy")]
    kind = rng.integers(10)
    if kind < 2 or not arrays:
        return changed_bytes(data, rng)
    if kind < 6:
        document = changed_document(json.loads(members["model.json"]), rng)
        return packed({**members, "model.json": json.dumps(document).encode()})
    if kind == 6:
        manifest = changed_document(json.loads(members["manifest.json"]), rng)
        return packed({**members, "manifest.json": json.dumps(manifest).encode()}, announce=False)
    name = arrays[rng.integers(len(arrays))]
    change = changed_header if kind == 7 else changed_array
    return packed({**members, name: change(members[name], rng)})
