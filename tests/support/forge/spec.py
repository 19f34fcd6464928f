"""Checks requests and answers against GitHub's published OpenAPI description.

The description allows unknown properties in a body; the real service ignores them,
which hides a misspelt one. Here they are refused.
"""

import copy
import json
import re
import urllib.parse
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

from jsonschema import Draft4Validator

Json = dict[str, Any]
_SUBSET: Final = "github-subset.json"
_VALUES: Final = {"branch": ".+"}  # the service takes the slash of a branch name unescaped too


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path, with the values of the path's variables."""

    template: str
    method: str
    variables: dict[str, str]
    description: Json


class GitHubSpec:
    """The part of the description that publishing needs, as questions to ask."""

    def __init__(self) -> None:
        text = resources.files(__package__).joinpath("data", _SUBSET).read_text("utf-8")
        self._root: Json = json.loads(text)
        self._root["components"]["schemas"] = _with_null(self._root["components"]["schemas"])
        self._paths = [
            (template, _path_pattern(template), methods) for template, methods in self._root["paths"].items()
        ]

    def find(self, method: str, path: str) -> Operation | None:
        """The operation that a request means, or None when the description has none."""
        for template, pattern, methods in self._paths:
            match = pattern.fullmatch(path)
            if match and method.lower() in methods:
                values = {k: urllib.parse.unquote(v) for k, v in match.groupdict().items()}
                return Operation(template, method, values, methods[method.lower()])
        return None

    def request_errors(self, operation: Operation, query: str, body: object) -> list[str]:
        """What is wrong with a request's query and body; empty when nothing is."""
        errors = self._query_errors(operation, query)
        wanted = operation.description.get("requestBody")
        if wanted is None:
            return errors + (["this operation takes no body"] if body is not None else [])
        if body is None:
            return errors + (["a body is required"] if wanted.get("required") else [])
        schema = _closed(wanted["content"]["application/json"]["schema"])
        return errors + self._schema_errors(schema, body)

    def answer_errors(self, operation: Operation, status: int, body: object) -> list[str]:
        """What is wrong with an answer of ours, so that the stand-in stays honest."""
        answer = operation.description["responses"].get(str(status))
        if answer is None:
            return [f"{operation.template} has no answer {status}"]
        answer = self._resolve(answer)
        content = answer.get("content", {}).get("application/json")
        if content is None:
            return []
        return self._schema_errors(_with_null(content["schema"]), body)

    def example(self, template: str, method: str, status: str) -> Any:  # noqa: ANN401 - JSON
        """GitHub's own example of an answer, as a value of the caller's own."""
        answer = self._root["paths"][template][method]["responses"][status]
        examples = answer["content"]["application/json"]["examples"]
        first = self._resolve(next(iter(examples.values())))
        return copy.deepcopy(first["value"])

    def _query_errors(self, operation: Operation, query: str) -> list[str]:
        known = {
            parameter["name"]: parameter
            for parameter in map(self._resolve, operation.description.get("parameters", []))
            if parameter["in"] == "query"
        }
        errors = []
        for name, value in urllib.parse.parse_qsl(query, keep_blank_values=True):
            if name not in known:
                errors.append(f"unknown query parameter {name}")
                continue
            schema = known[name]["schema"]
            typed: object = int(value) if _is_number(schema, value) else value
            errors += [f"{name}: {text}" for text in self._schema_errors(schema, typed)]
        return errors

    def _schema_errors(self, schema: Json, value: object) -> list[str]:
        validator = Draft4Validator({**schema, "components": self._root["components"]})
        return [
            f"{'/'.join(map(str, error.absolute_path)) or '(body)'}: {error.message[:300]}"
            for error in validator.iter_errors(value)
        ]

    def _resolve(self, node: Json) -> Json:
        target = node.get("$ref")
        if target is None:
            return node
        kind, name = target.removeprefix("#/components/").split("/", 1)
        found: Json = self._root["components"][kind][name]
        return found


def _path_pattern(template: str) -> re.Pattern[str]:
    pieces = re.split(r"\{(\w+)\}", template)
    text = "".join(
        f"(?P<{piece}>{_VALUES.get(piece, '[^/]+')})" if index % 2 else re.escape(piece)
        for index, piece in enumerate(pieces)
    )
    return re.compile(text)


def _is_number(schema: Json, value: str) -> bool:
    return schema.get("type") == "integer" and value.isdecimal()


def _closed(schema: Json) -> Json:
    """The same schema, refusing properties that it does not name, at every depth."""
    out = {k: _closed(v) if isinstance(v, dict) else v for k, v in schema.items()}
    if schema.get("type") == "object" and isinstance(schema.get("properties"), dict):
        out.setdefault("additionalProperties", False)
    return out


def _with_null(node: Any) -> Any:  # noqa: ANN401 - JSON
    """OpenAPI 3.0 writes `nullable: true` where JSON Schema has a type "null"."""
    if isinstance(node, list):
        return [_with_null(item) for item in node]
    if not isinstance(node, dict):
        return node
    out = {key: _with_null(value) for key, value in node.items()}
    if out.get("nullable") is True:
        out.pop("nullable")
        return {"anyOf": [out, {"type": "null"}]}
    return out
