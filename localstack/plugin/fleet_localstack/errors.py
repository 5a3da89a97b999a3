"""Errors as AWS answers them; LocalStack writes them in the protocol of the service."""

from __future__ import annotations

from typing import NoReturn

from localstack.aws.api import CommonServiceException


def refuse(code: str, message: str, status: int = 400) -> NoReturn:
    raise error(code, message, status)


def error(code: str, message: str, status: int = 400) -> CommonServiceException:
    return CommonServiceException(code, message, status_code=status, sender_fault=status < 500)
