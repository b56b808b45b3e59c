"""Arms that use the login of their agent (`auth = "login"`): whether they can, and the way to their model."""

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from outweigh.gateway.model_gateway import NamedUpstream
from outweigh.gateway.services.code_assist import CodeAssistService
from outweigh.gateway.services.login import LoginService, LoginTokenSource
from outweigh.gateway.services.login_files import ChatGptLogin, ClaudeLogin, GeminiLogin, LoginFile
from outweigh.gateway.upstream import LOOPBACK_HOSTS, ModelUpstream, proxy_for
from outweigh.model.arm import Arm
from outweigh.model.pricing import PriceTables
from outweigh.model.provider import ApiFamily
from outweigh.model.suite import GatewaySpec, SuiteSpec
from outweigh.plugins import load_adapter

_CHATGPT_URL = "https://chatgpt.com"
_CHATGPT_PATH = "/backend-api/codex"
_CODE_ASSIST_URL = "https://cloudcode-pa.googleapis.com"


def login_api(arm: Arm) -> ApiFamily:
    """The API that the gateway uses with the login of an arm's agent, which has one."""
    return ApiFamily(load_adapter("agent", arm.agent).login_api)


def explain_unfit_login(spec: SuiteSpec, arm: Arm, agent: object) -> str | None:
    """Why an arm cannot use the login of its agent; None where it can. Whether there is one is not looked at."""
    where = f"arms.{arm.name}.auth"
    api = getattr(agent, "login_api", "")
    if not api:
        return f'{where}: "login" is for claude-code, codex and gemini-cli; {arm.agent} needs a key. Leave it out.'
    if arm.provider_name is not None:
        return f"{where}: a login goes to the agent's own provider, and the arm names {arm.provider_name!r}. Keep one."
    if spec.gateway.mode == "direct":
        return (
            f'{where}: the gateway sends the login, and mode = "direct" under [gateway] uses no gateway. Leave one of '
            "them out."
        )
    stated: str = getattr(spec.gateway, api).url
    usual: str = getattr(GatewaySpec(), api).url
    if stated != usual and urlsplit(stated).hostname not in LOOPBACK_HOSTS:
        return (
            f"{where}: [gateway.{api}] has the address {stated}, and a login is sent to its maker alone. Leave the "
            "address out, or use a key."
        )
    return None


def login_file(arm: Arm, environment: Mapping[str, str]) -> LoginFile:
    """Where the agent of an arm keeps its login."""
    match login_api(arm):
        case ApiFamily.ANTHROPIC:
            return ClaudeLogin(environment)
        case ApiFamily.OPENAI:
            return ChatGptLogin(environment)
        case ApiFamily.GEMINI:
            installed = load_adapter("agent", arm.agent).installed(arm)
            return GeminiLogin(environment, None if installed is None else Path(installed.command[-1]))


def open_login(spec: GatewaySpec, arm: Arm, prices: PriceTables) -> NamedUpstream:
    """The way to the model of an arm with a login; UsageError where there is no login."""
    family, file = login_api(arm), login_file(arm, os.environ)
    url: str = getattr(spec, family).url
    is_usual = url == getattr(GatewaySpec(), family).url
    if family is ApiFamily.OPENAI:
        url = (_CHATGPT_URL if is_usual else url.rstrip("/")) + _CHATGPT_PATH
    elif family is ApiFamily.GEMINI and is_usual:
        url = _CODE_ASSIST_URL
    tokens = LoginTokenSource(file, proxy_for(file.token_url, os.environ))
    service = (
        CodeAssistService(url, tokens, os.environ.get("GOOGLE_CLOUD_PROJECT"))
        if family is ApiFamily.GEMINI
        else LoginService(family, url, tokens)
    )
    upstream = ModelUpstream(
        url=url,
        variable="",
        key="",
        proxy=proxy_for(url, os.environ),
        name=arm.upstream_name or "",
        service=service,
        is_plan=True,
    )
    return NamedUpstream(dialect=family, upstream=upstream, prices=prices)
