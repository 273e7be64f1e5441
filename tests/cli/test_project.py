"""`felloe matrix` and `felloe init`: felloe.json read, refused and written."""

import json
import re

import pytest

LISTS = "cmake_minimum_required(VERSION 3.25)\nproject(my-lib VERSION 2.3.4 LANGUAGES CXX)\n"


@pytest.fixture
def project(tmp_path):
    """A folder with a felloe.json of two targets."""
    target = {"arch": "x86_64", "python_abis": ["cp311", "cp312-abi3"], "toolchain": "gcc"}
    (tmp_path / "felloe.json").write_text(
        json.dumps(
            {
                "name": "demo",
                "version": "1.2.0",
                "toolchains": {"gcc": {"kind": "system", "cc": "gcc", "cxx": "g++"}},
                "targets": {
                    "x86_64-cpu": target | {"accelerator": "cpu"},
                    "x86_64-cu126": target | {"accelerator": "cu126", "sm": ["80", "90"]},
                },
            }
        )
    )
    return tmp_path


def without_comments(text):
    return json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))


def test_matrix_json(felloe, project):
    body = felloe("matrix", "--project", project, "--json").json()
    assert body["schema"] == "felloe/matrix/1"
    assert body["ok"] is True
    names = [t["name"] for t in body["data"]["targets"]]
    assert names == ["x86_64-cpu", "x86_64-cu126"]
    assert body["data"]["targets"][1]["version"] == "1.2.0+cu126"
    assert body["data"]["targets"][1]["sm"] == ["80", "90"]


def test_matrix_table(felloe, project):
    lines = felloe("matrix", cwd=project).out.splitlines()
    assert lines[0] == "demo 1.2.0"
    assert lines[1].split()[:2] == ["TARGET", "VERSION"]
    assert lines[2].startswith("x86_64-cpu ")
    assert all(len(line) <= 80 for line in lines)


def test_unknown_key(felloe, project):
    path = project / "felloe.json"
    path.write_text(path.read_text().replace('"toolchains"', '"toolchain"'))
    result = felloe("matrix", "--project", project, code=2)
    assert "unknown key `toolchain`" in result.err
    assert "did you mean `toolchains`?" in result.err


def test_no_felloe_json(felloe, tmp_path):
    assert "felloe init" in felloe("matrix", "--project", tmp_path, code=2).err


def test_init_writes_a_file_that_loads(felloe, schema, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(LISTS)
    (tmp_path / "README.md").write_text("# my-lib\n")
    result = felloe("init", cwd=tmp_path)
    assert result.out.startswith("wrote felloe.json for my-lib 2.3.4\n")
    text = (tmp_path / "felloe.json").read_text()
    assert text.count("//") > 10
    written = without_comments(text)
    schema("felloe", written)
    assert written["package"]["description_file"] == "README.md"
    assert felloe("matrix", "--json", cwd=tmp_path).json()["data"]["version"] == "2.3.4"


def test_init_takes_the_version_file(felloe, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text("project(a VERSION ${V})")
    (tmp_path / "VERSION").write_text("7.8.9\n")
    body = felloe("init", "--project", tmp_path, "--json").json()
    assert body["data"]["version"] == "7.8.9"
    assert without_comments((tmp_path / "felloe.json").read_text())["version"] == {
        "file": "VERSION"
    }


def written_abis(felloe, folder, env=None):
    felloe("init", "--project", folder, "--force", env=env)
    (target,) = without_comments((folder / "felloe.json").read_text())["targets"].values()
    return target["python_abis"]


def test_init_chooses_an_abi_that_can_be_built_here(felloe, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(LISTS)
    assert written_abis(felloe, tmp_path) == ["none"]
    (tmp_path / "src").mkdir()
    (tmp_path / "src/CMakeLists.txt").write_text("nanobind_add_module(_C a.cpp)\n")
    headers = tmp_path / "headers/3.13"
    headers.mkdir(parents=True)
    (headers / "Python.h").touch()
    env = {"FELLOE_PYTHON_HEADERS": str(headers.parent)}
    assert written_abis(felloe, tmp_path, env) == ["cp312-abi3"]
    headers.rename(tmp_path / "headers/3.11")
    # A machine with newer CPythons has the stable ABI all the same.
    (abi,) = written_abis(felloe, tmp_path, env)
    assert abi in ("cp311", "cp312-abi3")


def test_init_does_not_overwrite(felloe, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(LISTS)
    (tmp_path / "felloe.json").write_text("mine")
    result = felloe("init", "--project", tmp_path, code=2)
    assert "exists already" in result.err
    assert "--force" in result.err
    assert (tmp_path / "felloe.json").read_text() == "mine"
    felloe("init", "--project", tmp_path, "--force")
    assert (tmp_path / "felloe.json").read_text() != "mine"


def test_init_needs_a_cmake_project_with_a_usable_name(felloe, tmp_path):
    assert "no such file" in felloe("init", "--project", tmp_path, code=2).err
    (tmp_path / "CMakeLists.txt").write_text("project(${NAME})")
    assert "--name" in felloe("init", "--project", tmp_path, code=2).err
    (tmp_path / "CMakeLists.txt").write_text('project("my lib")')
    assert "not a name for a Python package: my lib" in (
        felloe("init", "--project", tmp_path, code=2).err
    )
    assert not (tmp_path / "felloe.json").exists()
    felloe("init", "--project", tmp_path, "--name", "mylib")


def test_the_schema_and_the_reader_know_the_same_keys(felloe, schema, project):
    """Every key of the schema is accepted, and the reader's top-level keys are the schema's."""
    path = project / "felloe.json"
    value = json.loads(path.read_text()) | {"nothing-like-it": 1}
    path.write_text(json.dumps(value))
    error = felloe("matrix", "--project", project, "--json", code=2).error()
    known = set(error["hint"].split("valid keys here: ")[1].split(", "))
    import pathlib

    text = (pathlib.Path(__file__).parents[2] / "docs/schema/felloe.schema.json").read_text()
    assert known == set(json.loads(text)["properties"])
