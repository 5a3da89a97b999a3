"""Checks the names of fields against the interface that Argo CD publishes (swagger 2.0)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

# Travels as inline JSON although it is described as bytes.
INLINE = "runtimeRawExtension"
# Query keys that the server knows on paths where the description leaves them out.
UNDESCRIBED = {"id.type"}


class Interface:
    def __init__(self, file: Path) -> None:
        described = json.loads(file.read_text())
        self._definitions = described["definitions"]
        self._paths = [(_pattern(path), operations) for path, operations in described["paths"].items()]

    def unknown_in_request(self, method: str, target: str, body: Any) -> list[str]:
        """Query keys and members of a body that are not described. Names are compared as Go does: without their case."""
        path, _, query = target.partition("?")
        operation = self._operation(method, path)
        if operation is None:
            return []
        parameters = operation.get("parameters", [])
        known = {p["name"] for p in parameters if p["in"] == "query"} | UNDESCRIBED
        unknown = [f"?{name}" for name in parse_qs(query, keep_blank_values=True) if name not in known]
        schema = next((p["schema"] for p in parameters if p["in"] == "body"), None)
        return unknown + (self._unknown(body, schema, "") if schema else [])

    def unknown_in_response(self, method: str, target: str, status: int, body: Any) -> list[str]:
        """Members of an answer that are not described."""
        operation = self._operation(method, target.partition("?")[0])
        if operation is None:
            return []
        responses = operation["responses"]
        answer = responses.get(str(status)) or responses.get("default", {})
        return self._unknown(body, answer["schema"], "") if "schema" in answer else []

    def _operation(self, method: str, path: str) -> Any:
        for pattern, operations in self._paths:
            if pattern.fullmatch(path):
                return operations.get(method.lower())
        return None

    def _unknown(self, value: Any, schema: Any, path: str) -> list[str]:
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return [] if name == INLINE else self._unknown(value, self._definitions[name], path)
        if isinstance(value, list):
            items = schema.get("items", {})
            return [found for item in value for found in self._unknown(item, items, f"{path}[]")]
        if not isinstance(value, dict):
            return []
        if "additionalProperties" in schema:
            return []
        known = {name.lower(): member for name, member in schema.get("properties", {}).items()}
        found = []
        for name, member in value.items():
            where = f"{path}.{name}" if path else name
            described = known.get(name.lower())
            found += [where] if described is None else self._unknown(member, described, where)
        return found


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{[^/]*\\\}", "[^/]+", re.escape(path)))
