"""Which APIs `sanitizer run` protects, and how each program is led to them: two tables."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from sanitizer.urls import check_base_url


@dataclass(frozen=True, eq=False)
class KnownApi:
    """An API whose endpoints the proxy treats.

    Attributes:
        name: as users know it.
        url: the vendor's base URL; "" if only the user's own is known.
        mount: path of the proxy that stands for the base URL.
        variables: variable -> what it holds behind the base URL. The first that is set, and holds
            the base URL alone, names the user's own.
        port: port of a host that is named without one.
    """

    name: str
    url: str
    mount: str
    variables: Mapping[str, str]
    port: int | None = None

    def upstream(self, environment: Mapping[str, str]) -> str:
        """Return the base URL to ask: the user's own, or the vendor's.

        Raises:
            ValueError: the user's own is none.
        """
        names = [name for name, path in self.variables.items() if not path]
        variable = next((name for name in names if environment.get(name)), None)
        if variable is None:
            return self.url
        own = environment[variable]
        if self.port is not None and "://" not in own:
            # Ollama's own programs take a host alone, and 0.0.0.0 for "listen everywhere".
            host, path = f"{own}/".replace("0.0.0.0", "127.0.0.1").split("/", 1)  # noqa: S104
            own = f"http://{host}{'' if ':' in host else f':{self.port}'}/{path}"
        check_base_url(variable, own)
        return own.rstrip("/")


def _named(*variables: str) -> dict[str, str]:
    return dict.fromkeys(variables, "")


_OPENAI = _named("OPENAI_BASE_URL", "OPENAI_API_BASE", "AIDER_OPENAI_API_BASE")
_ANTHROPIC = _named("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE")
_GOOGLE = {"GOOGLE_GEMINI_BASE_URL": "", "GEMINI_API_BASE": "/v1beta"}
_OLLAMA = _named("OLLAMA_HOST", "OLLAMA_API_BASE", "AIDER_OLLAMA_API_BASE")
_AZURE = _named("AZURE_OPENAI_ENDPOINT", "AZURE_API_BASE")

APIS = (
    KnownApi("OpenAI", "https://api.openai.com/v1", "/openai/v1", _OPENAI),
    KnownApi("Anthropic", "https://api.anthropic.com", "/anthropic", _ANTHROPIC),
    KnownApi("Gemini", "https://generativelanguage.googleapis.com", "/gemini", _GOOGLE),
    KnownApi("Ollama", "http://127.0.0.1:11434", "/ollama", _OLLAMA, 11434),
    KnownApi("Azure", "", "/azure", _AZURE),
)
"""What one proxy of `run` serves at once."""

HOSTS = (
    *("openai.com", "chatgpt.com", "openai.azure.com", "services.ai.azure.com"),
    *("cognitiveservices.azure.com", "models.inference.ai.azure.com", "models.github.ai"),
    *("anthropic.com", "claude.ai", "claude.com", "bedrock*.amazonaws.com"),
    *("codewhisperer*.amazonaws.com", "q.*.amazonaws.com", "generativelanguage.googleapis.com"),
    *("aiplatform.googleapis.com", "*-aiplatform.googleapis.com", "cloudcode-pa.googleapis.com"),
    *(
        "cloudaicompanion.googleapis.com",
        "play.googleapis.com",
        "ollama.com",
        "openrouter.ai",
        "opencode.ai",
    ),
    *("githubcopilot.com", "copilot-proxy.githubusercontent.com", "cursor.sh", "cursor.com"),
    *("mistral.ai", "groq.com", "deepseek.com", "x.ai", "together.xyz", "together.ai"),
    *("fireworks.ai", "cohere.com", "cohere.ai", "perplexity.ai", "cerebras.ai", "sambanova.ai"),
    *("deepinfra.com", "replicate.com", "integrate.api.nvidia.com", "router.huggingface.co"),
    *("api-inference.huggingface.co", "moonshot.ai", "moonshot.cn", "z.ai", "bigmodel.cn"),
    *("dashscope*.aliyuncs.com", "minimax.io", "minimaxi.com", "ai-gateway.vercel.sh"),
    *("gateway.ai.cloudflare.com", "ampcode.com", "sourcegraph.com", "codeium.com"),
    *(
        "windsurf.com",
        "opencode.ai",
        "augmentcode.com",
        "factory.ai",
        "poe.com",
        "voyageai.com",
        "jina.ai",
    ),
)
"""Domains of known APIs, with all names below them, to which nothing passes unread."""

LOGINS = ("auth.openai.com", "console.anthropic.com", "platform.claude.com")
"""Hosts below these domains that renew logins, and take no texts."""

SETTINGS = {
    "DO_NOT_TRACK": "1",
    "NODE_USE_ENV_PROXY": "1",  # Node's own `fetch` minds HTTPS_PROXY with it only
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "GEMINI_DEFAULT_AUTH_TYPE": "gemini-api-key",
    "GEMINI_TELEMETRY_ENABLED": "false",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_SHARE": "1",
}
"""Variables that every command gets: reports of errors and use may quote texts."""


@dataclass(frozen=True)
class Program:
    """How a program is led to the proxy. "{Name}" stands for the proxy's base URL of an API.

    Attributes:
        names: of its command and its packages.
        apis: names of the APIs that are covered; none: nothing can be.
        said: how, or why not.
        arguments: come right after its name.
        variables: set for it.
        elsewhere: variables that lead it to an API that is not covered, if set.
    """

    names: tuple[str, ...]
    apis: tuple[str, ...]
    said: str
    arguments: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    elsewhere: tuple[str, ...] = ()


_CODEX = (
    'model_provider="sanitizer"',
    'model_providers.sanitizer={name="sanitizer", base_url="{OpenAI}", env_key="OPENAI_API_KEY",'
    ' wire_api="responses", requires_openai_auth=false, supports_websockets=false}',
    'chatgpt_base_url="{OpenAI}"',
    'cli_auth_credentials_store="ephemeral"',
    "analytics.enabled=false",
    "check_for_update_on_startup=false",
)
_OPENCODE = {
    "provider": {
        "openai": {"options": {"baseURL": "{OpenAI}"}},
        "anthropic": {"options": {"baseURL": "{Anthropic}/v1"}},
        "google": {"options": {"baseURL": "{Gemini}/v1beta"}},
    },
    "disabled_providers": ["opencode"],
    "share": "disabled",
    "autoupdate": False,
}
_AIDER = {"ANTHROPIC_API_BASE": "{Anthropic}", "GEMINI_API_BASE": "{Gemini}/v1beta"}
_AIDER |= {"OLLAMA_API_BASE": "{Ollama}"}

PROGRAMS = (
    Program(
        ("codex", "@openai/codex"),
        ("OpenAI",),
        "by -c settings, with the key in $OPENAI_API_KEY; a login with ChatGPT is not used",
        tuple(each for setting in _CODEX for each in ("-c", setting)),
    ),
    Program(
        ("claude", "@anthropic-ai/claude-code"),
        ("Anthropic",),
        "by --settings",
        ("--settings", json.dumps({"env": {"ANTHROPIC_BASE_URL": "{Anthropic}"}})),
        elsewhere=tuple(f"CLAUDE_CODE_USE_{name}" for name in ("BEDROCK", "VERTEX", "FOUNDRY")),
    ),
    Program(
        ("gemini", "@google/gemini-cli"),
        ("Gemini",),
        "by variables, if its settings choose gemini-api-key; a login with Google is refused",
        elsewhere=("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"),
    ),
    Program(
        ("opencode", "opencode-ai"),
        ("OpenAI", "Anthropic", "Gemini"),
        "by a configuration of its own",
        variables={"OPENCODE_CONFIG_CONTENT": json.dumps(_OPENCODE)},
    ),
    Program(
        ("aider", "aider-chat"),
        ("OpenAI", "Anthropic", "Gemini", "Ollama"),
        "by flags, which hold before its .env file",
        (
            *("--no-analytics", "--openai-api-base", "{OpenAI}"),
            *(word for name, url in _AIDER.items() for word in ("--set-env", f"{name}={url}")),
        ),
    ),
    Program(("llm",), ("OpenAI", "Anthropic", "Ollama"), "by variables"),
    Program(
        ("cursor-agent", "copilot", "amp", "droid", "auggie", "kiro-cli"),
        (),
        "it speaks to its vendor only, in a protocol that the proxy does not read",
    ),
    Program(
        ("sudo", "su", "doas", "ssh", "docker", "podman", "nerdctl", "kubectl", "systemd-run"),
        (),
        "what it starts does not get the variables of `run`",
    ),
)
"""Programs that read none of the variables, or not surely; all others are led by variables."""

STARTERS = frozenset(["npx", "bunx", "pnpx", "pnpm", "npm", "yarn", "uvx", "uv", "pipx", "env"])
STARTERS |= {"nice", "nohup", "time", "timeout", "stdbuf"}
"""Programs that start the one named in their arguments."""


def program_of(command: Sequence[str]) -> tuple[Program | None, int]:
    """Return the row of a command, and where in it the program's own arguments begin.

    >>> program_of(["npx", "-y", "@openai/codex@latest", "exec"])[1]
    3
    >>> program_of(["python", "codex"])
    (None, 0)
    """
    starts = PurePath(command[0]).name in STARTERS
    for place, word in enumerate(command if starts else command[:1]):
        package = re.sub(r"(?<=.)(@|==).*", "", word)
        names = {package, PurePath(package).name.removesuffix(".exe")}
        for row in PROGRAMS:
            if names.intersection(row.names):
                return row, place + 1
    return None, 0
