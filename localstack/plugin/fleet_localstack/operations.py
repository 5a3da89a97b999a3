"""Wrapping the operations of LocalStack's services.

`@around("ec2", "CreateVpc")` registers a function that gets the parsed request and the operation that it wraps, in
the shapes of the AWS API models, whichever engine is behind it. Calls that LocalStack makes to itself pass unchanged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from localstack.aws.api import RequestContext
from localstack.aws.skeleton import Skeleton
from localstack.utils.patch import Patch
from moto.core.exceptions import RESTError

from . import world
from .errors import error

Parameters = dict[str, Any]
Reply = Any  # a dict in the shape of the API model, or None
Proceed = Callable[[], Reply]
Wrapper = Callable[[RequestContext, Parameters, Proceed], Reply]

_WRAPPERS: dict[tuple[str, str], list[Wrapper]] = defaultdict(list)
_ALL = "*"

SERVICES = ("ec2", "eks", "iam", "service-quotas", "sts")


def around(service: str, *operations: str) -> Callable[[Wrapper], Wrapper]:
    """Registers a wrapper; those registered last are outermost, those of a whole service outside of all others."""

    def register(wrapper: Wrapper) -> Wrapper:
        for operation in operations or (_ALL,):
            _WRAPPERS[service, operation].append(wrapper)
        return wrapper

    return register


def operation_of(context: RequestContext) -> str:
    """The name of the operation, which is known wherever a wrapper runs."""
    assert context.operation is not None
    return str(context.operation.name)


def install() -> None:
    """From now on, services that LocalStack loads are wrapped."""

    def initialize(original: Callable[..., None], self: Skeleton, service: Any, implementation: Any) -> None:
        original(self, service, implementation)
        name = service.service_name
        if name in SERVICES:
            self.dispatch_table = {
                operation: _wrapped(name, operation, handler) for operation, handler in self.dispatch_table.items()
            }

    Patch.function(Skeleton.__init__, initialize).apply()


def _wrapped(service: str, operation: str, handler: Callable[..., Reply]) -> Callable[..., Reply]:
    wrappers = [*_WRAPPERS[service, operation], *_WRAPPERS[service, _ALL]]

    def call(context: RequestContext, request: Parameters | None) -> Reply:
        if context.is_internal_call:
            return handler(context, request)
        parameters = request or {}

        def innermost() -> Reply:
            return handler(context, request)

        proceed: Proceed = innermost
        for wrapper in wrappers:
            proceed = _bound(wrapper, context, parameters, proceed)
        try:
            with world.LOCK:
                return proceed()
        except RESTError as refusal:  # a wrapper used LocalStack's EC2 engine directly
            raise error(refusal.error_type, refusal.message, refusal.code) from refusal

    return call


def _bound(wrapper: Wrapper, context: RequestContext, parameters: Parameters, proceed: Proceed) -> Proceed:
    return lambda: wrapper(context, parameters, proceed)
