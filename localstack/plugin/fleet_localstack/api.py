"""The emulator's own interface, `/_fleet/...`: settings, faults, the call log, accounts, inventory, targets."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from localstack.http import Request, Response
from localstack.services.edge import ROUTER

from . import accounts, inventory, target
from .calls import CALLS
from .eks.certificates import server_certificate
from .faults import FAULTS, Rule
from .settings import SETTINGS
from .world import CLOCK

Endpoint = Callable[[Request], Any]


def install() -> None:
    _serve("process", _process, "GET")
    _serve("settings", _settings, "GET", "POST")
    _serve("faults", _faults, "GET", "POST", "DELETE")
    _serve("calls", _calls, "GET", "DELETE")
    _serve("accounts", _accounts, "POST")
    _serve("inventory", _inventory, "GET")
    _serve("target", _target, "GET")
    _serve("certificate", _certificate, "GET")


def _serve(name: str, endpoint: Endpoint, *methods: str) -> None:
    def answer(request: Request, **_: Any) -> Response:
        CLOCK.run_due()
        try:
            body, status = endpoint(request), 200
        except (ValueError, TypeError, KeyError) as error:
            body, status = {"error": f"{type(error).__name__}: {error}"}, 400
        if body is None:
            body, status = {"error": "not found"}, 404
        return Response(json.dumps(body, default=str), status, mimetype="application/json")

    ROUTER.add(f"/_fleet/{name}", answer, methods=list(methods))


def _body(request: Request) -> Any:
    return json.loads(request.get_data() or b"null")


def _process(_request: Request) -> Any:
    return {"pid": os.getpid()}


def _settings(request: Request) -> Any:
    if request.method == "POST":
        SETTINGS.change(_body(request) or {})
    return SETTINGS.to_json()


def _faults(request: Request) -> Any:
    if request.method == "DELETE":
        FAULTS.replace([])
    if request.method == "POST":
        given = _body(request)
        rules = [Rule.from_json(each) for each in (given if isinstance(given, list) else [given])]
        (FAULTS.add if request.args.get("add") == "1" else FAULTS.replace)(rules)
    return FAULTS.to_json()


def _calls(request: Request) -> Any:
    account = request.args.get("account")
    if request.method == "DELETE":
        CALLS.clear(account)
    return CALLS.to_json(account)


def _accounts(request: Request) -> Any:
    given = _body(request)
    return accounts.seed(given["hub"], given["workload"], given.get("externalId"))


def _inventory(request: Request) -> Any:
    return inventory.of(request.args["account"], request.args.getlist("region"))


def _target(request: Request) -> Any:
    return target.by_endpoint(request.args["endpoint"])


def _certificate(request: Request) -> Any:
    found = target.by_endpoint(request.args["endpoint"])
    return server_certificate(found["certificateAuthority"]) if found else None
