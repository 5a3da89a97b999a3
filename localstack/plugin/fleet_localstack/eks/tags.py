"""Tags of everything in EKS, by ARN."""

from __future__ import annotations

from localstack.aws.api import RequestContext, handler

from ..errors import refuse
from .base import Reply, Request
from .store import clusters_of


def _tags(context: RequestContext, arn: str) -> dict[str, str]:
    for cluster in clusters_of(context.account_id, context.region).values():
        for found, resource in cluster.tagged():
            if found == arn:
                return resource.tags
    refuse("NotFoundException", f"Resource was not found: {arn}", 404)


class TagOperations:
    @handler("TagResource", expand=False)
    def tag_resource(self, context: RequestContext, request: Request) -> Reply:
        _tags(context, request["resourceArn"]).update(request["tags"])
        return {}

    @handler("UntagResource", expand=False)
    def untag_resource(self, context: RequestContext, request: Request) -> Reply:
        tags = _tags(context, request["resourceArn"])
        for key in request["tagKeys"]:
            tags.pop(key, None)
        return {}

    @handler("ListTagsForResource", expand=False)
    def list_tags_for_resource(self, context: RequestContext, request: Request) -> Reply:
        return {"tags": _tags(context, request["resourceArn"])}
