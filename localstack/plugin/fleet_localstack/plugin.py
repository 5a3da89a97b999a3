"""The entry points through which LocalStack loads this package."""

from __future__ import annotations

from localstack.runtime import hooks
from localstack.services.plugins import Service, aws_provider


@aws_provider(api="eks")
def eks() -> Service:
    from .eks.provider import EksProvider

    return Service.for_provider(EksProvider())


@aws_provider(api="service-quotas")
def service_quotas() -> Service:
    from .quotas import QuotaProvider

    return Service.for_provider(QuotaProvider())


@hooks.on_infra_start()
def install() -> None:
    from . import api, connections, ec2, gateway, iam, operations, parent, quotas, s3, sts
    from .eks import provider

    assert ec2 and iam and quotas and sts and provider  # importing them registers their wrappers
    operations.install()
    connections.install()
    gateway.install()
    api.install()
    parent.install()
    s3.install()
