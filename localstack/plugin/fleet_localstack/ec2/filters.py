"""The filters of Describe*: all of them must match, one value of each is enough, `*` and `?` are wildcards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from localstack.utils.patch import patch
from moto.ec2 import utils

from ..errors import refuse


@patch(utils.is_filter_matching)
def _any_value_matches(original: Any, item: Any, name: str, wanted: Any) -> bool:
    """moto wants a list of values to be a part of the wanted ones, or the other way round; AWS is content with one."""
    actual = item.get_filter_value(name)
    # A table's associated subnets come as the view of a dictionary, not as a list.
    if isinstance(actual, Iterable) and not isinstance(actual, (str, Mapping)) and isinstance(wanted, list):
        return any(fnmatchcase(str(value), str(pattern)) for value in actual for pattern in wanted)
    matches: bool = original(item, name, wanted)
    return matches


def matches(item: Mapping[str, Any], filters: list[dict[str, Any]], fields: Mapping[str, str]) -> bool:
    """Whether an object, in the shape of the API, passes the filters; `fields` maps filter names to its members."""
    tags = {tag["Key"]: tag["Value"] for tag in item.get("Tags") or []}
    for each in filters:
        name = each["Name"]
        if name.startswith("tag:"):
            actual = [tags[name[4:]]] if name[4:] in tags else []
        elif name == "tag-key":
            actual = list(tags)
        elif name in fields:
            actual = [str(item.get(fields[name]))]
        else:
            refuse("InvalidParameterValue", f"The filter '{name}' is invalid")
        if not any(fnmatchcase(value, pattern) for value in actual for pattern in each.get("Values") or []):
            return False
    return True
