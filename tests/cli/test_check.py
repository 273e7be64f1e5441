"""`felloe check`: exit codes, the printed object, how arguments are judged together."""

import json

import pytest
from conftest import write_json

HOST = {
    "schema": "felloe/host/1",
    "os": {"kernel": "Linux", "machine": "x86_64", "page_size": 4096},
    "libc": {"name": "glibc", "version": "2.36"},
    "cpu": {"machine": "x86_64", "features": ["sse2", "pni"]},
    "python": [
        {
            "path": "/usr/bin/python3.11",
            "implementation": "cpython",
            "version": "3.11.2",
            "abi": "cp311",
            "machine": "x86_64",
            "elf_class": 64,
            "free_threaded": False,
        }
    ],
    "gpu": None,
}


def wheel(version="1.0", tag="py3-none-any", **more):
    facts = {
        "schema": "felloe/wheel/1",
        "file": f"demo-{version}-{tag}.whl",
        "name": "demo",
        "version": version,
        "tags": [tag],
        "modules": [],
        "cuda": None,
    }
    return facts | more


def gpu_host(*capabilities):
    devices = [{"index": i, "cc": cc} for i, cc in enumerate(capabilities)]
    return HOST | {"gpu": {"driver": "580.95.05", "cuda": "13.0", "devices": devices}}


def cuda_wheel(sass, version="1.0"):
    return wheel(
        version,
        "py3-none-manylinux_2_28_x86_64",
        cuda={"runtime": "12.8", "sass": sass, "ptx": []},
        modules=[
            {
                "path": "demo/lib.so",
                "kind": "library",
                "machine": "x86_64",
                "isa": {"requires": [], "dispatched": []},
                "p_align": 4096,
                "exec_stack": False,
            }
        ],
    )


@pytest.fixture
def check(felloe, schema, tmp_path):
    """Judges wheels on a host; returns the checked JSON object."""

    def run(host, *wheels, code, args=()):
        paths = [write_json(tmp_path / f"w{i}.json", w) for i, w in enumerate(wheels)]
        host_path = write_json(tmp_path / "host.json", host)
        body = felloe("check", "--host", host_path, *args, *paths, "--json", code=code).json()
        assert body["schema"] == "felloe/check/1"
        for verdict in body["verdicts"]:
            schema("check", verdict)
        return body

    return run


def codes(verdict):
    return [reason["code"] for reason in verdict["reasons"]]


def test_one_that_fits_gives_0(check):
    body = check(HOST, wheel(), code=0)
    assert body["best"] == "demo-1.0-py3-none-any.whl"
    assert body["verdicts"][0]["verdict"] == "fits"
    assert body["verdicts"][0]["python"] == "/usr/bin/python3.11"


def test_none_that_fits_gives_1(check):
    body = check(HOST, wheel(tag="cp312-cp312-manylinux_2_17_x86_64"), code=1)
    assert body["best"] is None
    assert codes(body["verdicts"][0]) == ["PY_TAG"]


def test_undecided_is_no_fit(check):
    facts = wheel(tag="cp311-cp311-manylinux_2_17_x86_64")
    del facts["modules"], facts["cuda"]
    body = check(HOST, facts, code=1)
    assert body["verdicts"][0]["verdict"] == "undecided"
    assert set(codes(body["verdicts"][0])) == {"ISA_UNKNOWN", "GPU_UNKNOWN"}


def test_the_newer_version_is_best_whatever_its_local_part(check):
    body = check(HOST, wheel("1.9"), wheel("1.10"), wheel("1.2+zzz"), code=0)
    assert body["best"] == "demo-1.10-py3-none-any.whl"


def test_verdicts_keep_the_order_of_the_arguments(check):
    body = check(HOST, wheel("2"), wheel("1"), wheel("3"), code=0)
    assert [v["wheel"].split("-")[1] for v in body["verdicts"]] == ["2", "1", "3"]


def test_devices_any_and_all(check):
    host, facts = gpu_host("8.0", "12.0"), cuda_wheel(["80"])
    body = check(host, facts, code=0)
    assert "GPU_PARTIAL_COVER" in codes(body["verdicts"][0])
    assert [d["verdict"] for d in body["verdicts"][0]["devices"]] == ["fits", "does_not_fit"]
    body = check(host, facts, code=1, args=["--devices", "all"])
    assert body["verdicts"][0]["verdict"] == "does_not_fit"


def test_a_build_without_gpu_code_beside_one_with(check):
    plain = cuda_wheel([], "1.1") | {"cuda": None}
    body = check(gpu_host("8.0"), plain, cuda_wheel(["80"]), code=0)
    assert [v["verdict"] for v in body["verdicts"]] == ["fits_without_gpu", "fits"]
    assert body["best"] == cuda_wheel(["80"])["file"]
    assert check(gpu_host("8.0"), plain, code=0)["verdicts"][0]["verdict"] == "fits"


def test_device_code_without_a_device(check):
    body = check(HOST, cuda_wheel(["80"]), code=0)
    assert body["verdicts"][0]["verdict"] == "fits_without_gpu"
    assert codes(body["verdicts"][0]) == ["GPU_NONE"]


def test_text_says_verdict_and_reasons(felloe, tmp_path):
    host = write_json(tmp_path / "h.json", HOST)
    bad = write_json(tmp_path / "w.json", wheel(tag="cp312-cp312-manylinux_2_17_x86_64"))
    good = write_json(tmp_path / "g.json", wheel())
    out = felloe("check", "--host", host, bad, good).out
    assert "does not fit" in out
    assert "error PY_TAG" in out
    assert "best: demo-1.0-py3-none-any.whl" in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_facts_that_are_no_facts(felloe, tmp_path):
    host = write_json(tmp_path / "h.json", HOST)
    facts = write_json(tmp_path / "w.json", wheel() | {"tags": "py3-none-any"})
    error = felloe("check", "--host", host, facts, "--json", code=3).error()
    assert error["where"] == f"{facts}#/tags"
    assert error["message"] == 'must be a list, not "py3-none-any"'
    swapped = felloe("check", "--host", facts, host, code=3)
    assert 'must be "felloe/host/1", not "felloe/wheel/1"' in swapped.err
    assert "no such file" in felloe("check", "--host", host, "none.json", code=3).err.lower()
    (tmp_path / "x.json").write_text("{")
    assert "not valid JSON" in felloe("check", "--host", host, tmp_path / "x.json", code=3).err


def test_wrong_options(felloe):
    assert "WHEEL" in felloe("check", code=2).err
    assert felloe("check", "--devices", "some", "x.json", code=2).err


def test_output_is_deterministic(felloe, tmp_path):
    host = write_json(tmp_path / "h.json", gpu_host("8.0", "9.0"))
    facts = write_json(tmp_path / "w.json", cuda_wheel(["80", "90"]))
    runs = {felloe("check", "--host", host, facts, "--json").out for _ in range(3)}
    assert len(runs) == 1
    assert json.loads(runs.pop())
