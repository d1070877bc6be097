"""Reports for build servers: SARIF against its schema, JUnit as its readers read it."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import tautomer


#: The schema that OASIS publishes; its `$id` says where.
SARIF = json.loads(Path(__file__).with_name("sarif-schema-2.1.0.json").read_text())

RULES = """/// Twice is once.
rule twice(x) { relu(relu(x)) => relu(x) numerics bitwise }
/// Not true, and "<&>" must be escaped.
rule wrong(x) { abs(x) => x }
"""


@pytest.fixture
def folder(tmp_path):
    for name, text in {
        "original": "fn main(x: f32[3]) { relu(relu(x)) }",
        "equal": "fn main(x: f32[3]) { relu(x) }",
        "not equal": "fn main(x: f32[3]) { abs(x) }",
    }.items():
        tautomer.Graph(text).save(tmp_path / f"{name}.onnx")
    (tmp_path / "damaged.onnx").write_bytes(b"no model")
    (tmp_path / "my.rules").write_text(RULES)
    return tmp_path


#: The files to compare, or rules; the exit code; the outcome of each.
CASES = [
    (["original.onnx", "equal.onnx"], 0, ["pass"]),
    (["original.onnx", "not equal.onnx"], 1, ["fail"]),
    (["original.onnx", "damaged.onnx"], 2, ["error"]),
    (["original.onnx", "missing.onnx"], 2, ["error"]),
    (["my.rules"], 1, ["pass", "fail"]),
    (["missing.rules"], 2, ["error"]),
]


def report(folder, files, form):
    command = [sys.executable, "-m", "tautomer", "verify", *files, "--format", form]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout


@pytest.mark.parametrize("files,code,outcomes", CASES)
def test_sarif_is_what_the_schema_says(folder, files, code, outcomes):
    jsonschema = pytest.importorskip("jsonschema")
    found, text = report(folder, files, "sarif")
    assert found == code
    sarif = json.loads(text)
    validator = jsonschema.Draft7Validator(SARIF, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)
    validator.validate(sarif)
    # The schema refuses what it does not name.
    assert list(validator.iter_errors(sarif | {"verdict": 1})) and list(validator.iter_errors({"runs": []}))
    run = sarif["runs"][0]
    kinds = ["pass" if one == "pass" else "fail" for one in outcomes]
    assert [result["kind"] for result in run["results"]] == kinds
    locations = [location for result in run["results"] for location in result.get("locations", [])]
    for location in locations:
        assert " " not in location["physicalLocation"]["artifactLocation"]["uri"]
    # A level other than `none` is for failures alone.
    assert all((result["level"] == "none") == (result["kind"] == "pass") for result in run["results"])
    assert run["invocations"][0]["executionSuccessful"] == ("error" not in outcomes)
    assert {result["ruleId"] for result in run["results"]} == {rule["id"] for rule in run["tool"]["driver"]["rules"]}


@pytest.mark.parametrize("files,code,outcomes", CASES)
def test_junit_is_what_readers_read(folder, files, code, outcomes):
    found, text = report(folder, files, "junit")
    assert found == code
    suites = ElementTree.fromstring(text)
    assert suites.tag == "testsuites"
    tests = suites.findall("testsuite/testcase")
    names = {"pass": None, "fail": "failure", "error": "error"}
    for test, outcome in zip(tests, outcomes, strict=True):
        assert test.get("name") and test.get("classname")
        bad = [child.tag for child in test if child.tag in ("failure", "error", "skipped")]
        assert bad == [name for name in [names[outcome]] if name]
        assert all(child.get("message") for child in test if child.tag in bad)
    counts = {"tests": len(outcomes), "failures": outcomes.count("fail"), "errors": outcomes.count("error")}
    for element in (suites, suites[0]):
        assert {name: int(element.get(name, "-1")) for name in counts} == counts
    junitparser = pytest.importorskip("junitparser")
    read = junitparser.JUnitXml.fromstring(text.encode())
    assert (read.tests, read.failures, read.errors) == tuple(counts.values())
