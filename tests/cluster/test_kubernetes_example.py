"""Claims about the resource that starts hosts on Kubernetes, by the schemas of dask-kubernetes and of Kubernetes."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from outweigh.cli.dev_host import build_parser

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kubernetes" / "cluster.yaml"
TEMPLATES = "python://dask_kubernetes/operator/customresources/templates.yaml"
PODS = "python://k8s_crd_resolver/schemata/k8s-1.21.1.json"
"""How the schema names that of Kubernetes, which kubernetes-validate has in its strict form."""
CLUSTER = f"{TEMPLATES}#/definitions/dask.k8s.api.v1.DaskCluster"


@pytest.fixture
def resource() -> dict[str, Any]:
    found: dict[str, Any] = msgspec.yaml.decode(EXAMPLE.read_bytes())
    return found


def _refuse_unknown_keys(schema: Any) -> Any:
    """The schema, in which a key that is not described is an error: Kubernetes drops it, which helps nobody."""
    if isinstance(schema, list):
        return [_refuse_unknown_keys(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _refuse_unknown_keys(each) for name, each in schema.items()}
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        closed["additionalProperties"] = False
    return closed


def _load(address: str) -> Resource[Any]:
    if address == PODS:
        content = files("kubernetes_validate").joinpath("kubernetes-json-schema/v1.37.0-local-strict/_definitions.json")
        found = json.loads(content.read_text())
        document = {"$defs": found["$defs"], "definitions": found["$defs"]}
    else:
        assert address == TEMPLATES
        content = files("dask_kubernetes").joinpath("operator/customresources/templates.yaml")
        document = _refuse_unknown_keys(msgspec.yaml.decode(content.read_text()))
    return Resource.from_contents(document, default_specification=DRAFT202012)


def faults(resource: dict[str, Any]) -> list[str]:
    """What is wrong with a resource; what every resource of Kubernetes has is not in the schema of its kind."""
    described = {key: value for key, value in resource.items() if key not in ("apiVersion", "kind", "metadata")}
    registry: Registry[Any] = Registry(retrieve=_load)  # type: ignore[call-arg]
    validator = jsonschema.Draft202012Validator({"$ref": CLUSTER}, registry=registry)
    return [fault.message for fault in validator.iter_errors(described)]


def test_the_resource_is_what_the_operator_takes(resource: dict[str, Any]) -> None:
    assert (resource["apiVersion"], resource["kind"]) == ("kubernetes.dask.org/v1", "DaskCluster")
    assert faults(resource) == []


def test_a_misspelt_key_is_found(resource: dict[str, Any]) -> None:
    resource["spec"]["worker"]["spec"]["containers"][0]["volumeMount"] = []

    assert any("volumeMount" in fault for fault in faults(resource))


def test_its_hosts_are_started_with_options_that_exist_and_reach_its_scheduler(resource: dict[str, Any]) -> None:
    program, *arguments = resource["spec"]["worker"]["spec"]["containers"][0]["args"]

    assert (program, arguments[:2]) == ("outweigh", ["dev", "host"])
    options = build_parser().parse_args(arguments[2:])
    port = resource["spec"]["scheduler"]["service"]["ports"][0]["port"]
    # The operator names the service of a scheduler after its cluster.
    assert options.scheduler == f"tls://{resource['metadata']['name']}-scheduler:{port}"
