"""Array libraries are told apart, and a random state of any kind becomes one Generator."""

import numpy as np
import pytest

from posterity import arrays


@pytest.fixture
def free_on(tmp_path, monkeypatch):
    """What is free on a machine whose system says what these files say."""
    monkeypatch.setattr(arrays, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(arrays, "_CGROUPS", tmp_path / "cgroup")

    def free(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return arrays.free_memory(np.zeros(1))

    return free


@pytest.mark.parametrize("device", ["nowhere", "cuda:99", "", 3.5])
def test_a_device_that_is_none_is_refused_in_a_sentence(device):
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"PyTorch cannot use device="):
        arrays.to_device(np.zeros(2), device)


def test_numpy_arrays_are_recognised_and_come_back_untouched():
    x = np.arange(3.0)
    assert arrays.to_numpy(x) is x
    assert arrays.namespace(x, x).sqrt(np.float64(4.0)) == 2.0


def test_torch_arrays_keep_their_library_and_their_numbers():
    torch = pytest.importorskip("torch")
    x = torch.arange(3.0, dtype=torch.float64, requires_grad=True)
    np.testing.assert_array_equal(arrays.to_numpy(x), [0.0, 1.0, 2.0])
    assert "torch" in arrays.namespace(x).__name__


def test_arrays_of_two_libraries_do_not_mix():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError):
        arrays.namespace(np.ones(2), torch.ones(2))


@pytest.mark.parametrize("make", [lambda: 7, lambda: np.int64(7), lambda: np.random.RandomState(7)])
def test_the_same_random_state_gives_the_same_numbers(make):
    a, b = arrays.generator(make()), arrays.generator(make())
    assert isinstance(a, np.random.Generator)
    np.testing.assert_array_equal(a.random(5), b.random(5))


def test_a_generator_is_used_as_it_is():
    rng = np.random.default_rng(0)
    assert arrays.generator(rng) is rng
    assert arrays.generator(None) is not arrays.generator(None)


MEMINFO = {"proc/meminfo": "MemTotal: 900 kB\nMemAvailable:     500 kB\nHugePages_Total: 0\n"}


def test_free_memory_of_this_machine_is_a_part_of_it():
    room = arrays.free_memory(np.zeros(1))
    assert room is None or 0 < room < 2**50
    assert room is None or isinstance(room, int)


def test_the_host_is_asked_for_what_it_can_make_available(free_on):
    assert free_on(MEMINFO) == 500 * 1024


def test_a_control_group_limits_the_host_and_its_file_cache_does_not_count(free_on):
    files = {
        "proc/self/cgroup": "0::/\n",
        "cgroup/memory.max": "300000\n",
        "cgroup/memory.current": "200000\n",
    }
    assert free_on(MEMINFO | files) == 100_000
    assert free_on({"cgroup/memory.stat": "anon 1\ninactive_file 50000\nslab 7\n"}) == 150_000
    assert free_on({"cgroup/memory.current": "400000\n"}) == 0
    assert free_on({"cgroup/memory.max": "max\n"}) == 500 * 1024


def test_the_tightest_of_nested_control_groups_counts(free_on):
    files = {
        "proc/self/cgroup": "0::/batch/job/step\n",
        "cgroup/batch/memory.max": "90000",
        "cgroup/batch/memory.current": "20000",
        "cgroup/batch/job/memory.max": "50000",
        "cgroup/batch/job/memory.current": "20000",
        "cgroup/batch/job/step/memory.max": "max",
        "cgroup/batch/job/step/memory.current": "20000",
    }
    assert free_on(MEMINFO | files) == 30_000
    assert free_on({"cgroup/batch/memory.current": "65000"}) == 25_000


def test_control_groups_of_the_first_version_count_too(free_on):
    files = {
        "proc/self/cgroup": "5:cpu,cpuacct:/job\n4:memory:/job\n0::/\n",
        "cgroup/memory/job/memory.limit_in_bytes": "70000",
        "cgroup/memory/job/memory.usage_in_bytes": "60000",
        "cgroup/memory/job/memory.stat": "inactive_file 1\ntotal_inactive_file 5000\n",
    }
    assert free_on(MEMINFO | files) == 15_000


def test_without_meminfo_the_free_pages_are_counted(free_on, monkeypatch):
    pages = {"SC_AVPHYS_PAGES": 10, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(arrays.os, "sysconf", pages.__getitem__)
    assert free_on({}) == 40_960


def test_free_memory_is_unknown_where_the_system_does_not_say(free_on, monkeypatch):
    def unknown(name):
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(arrays.os, "sysconf", unknown)
    assert free_on({}) is None


def test_torch_on_the_host_has_the_memory_of_the_host(free_on):
    torch = pytest.importorskip("torch")
    free_on(MEMINFO)
    assert arrays.free_memory(torch.zeros(1)) == 500 * 1024


def test_torch_on_a_device_has_what_is_free_and_what_it_keeps_unused(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1000, 9000))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 500)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 200)
    assert arrays._free_for_torch(torch.device("cuda", 0)) == 1300


def test_free_memory_of_another_device_is_unknown():
    torch = pytest.importorskip("torch")
    assert arrays.free_memory(torch.zeros(1, device="meta")) is None


def test_cupy_has_what_is_free_and_what_it_keeps_unused():
    cupy = pytest.importorskip("cupy")
    x = cupy.zeros(1 << 20)
    room = arrays.free_memory(x)
    y = cupy.zeros(1 << 20)
    less = arrays.free_memory(x)
    del y
    assert room - less >= 1 << 23
    assert arrays.free_memory(x) == room


def test_objects_are_missing_where_they_equal_nothing():
    pandas = pytest.importorskip("pandas")
    there = [np.int64(3), np.str_("a"), "b", 0, False, (1, 2)]
    absent = [None, float("nan"), np.float64("nan"), pandas.NA, pandas.NaT]
    values = np.empty(len(there) + len(absent), dtype=object)
    values[:] = [*there, *absent]
    expected = [False] * len(there) + [True] * len(absent)
    np.testing.assert_array_equal(arrays.is_missing(values), expected)
