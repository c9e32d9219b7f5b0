"""openai-agents: one call that shields its model client and its traces, and hooks for other models.

shield_agents(Sanitizer())  # traces off, the default client shielded
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal

import agents
from agents.run import CallModelData, ModelInputData
from agents.tracing.processors import BatchTraceProcessor, TracingExporter, default_exporter
from openai import AsyncOpenAI

from sanitizer.clients.shielding import shield
from sanitizer.integrations.turns import Turns
from sanitizer.pipeline.sanitizer import Sanitizer

Json = dict[str, Any]

# What programs name: the kind of a span, agents and tools. All other strings of a span are text.
_NAMES = frozenset(
    "type name sdk_span_type agent_name handoffs tools output_type from_agent to_agent model "
    "model_config usage response_id triggered".split()
)


def shield_agents(
    sanitizer: Sanitizer,
    client: AsyncOpenAI | None = None,
    *,
    traces: Literal["off", "sanitized"] = "off",
) -> AsyncOpenAI:
    """Shield what openai-agents sends by default: to the model, and as traces.

    Models that are named by a string then use the shielded client. Traces hold every message and
    every argument of a tool, and go to OpenAI past any client.

    Guarantee: as `shield` for requests of OpenAI's models. "off": no trace leaves. "sanitized":
    every string of a trace is sanitized, except those that programs name (kinds of spans, agents,
    tools, models, the name of the workflow).
    Not protected: models of other providers (`RunConfig` with `input_filter`); hosted tools;
    processors of traces that are added after this call.

    Args:
        client: client to shield; default one with the settings of the environment.

    Returns:
        The shielded client.

    Raises:
        ValueError: `traces` is none of the two.
    """
    if traces not in ("off", "sanitized"):
        raise ValueError(f'traces must be "off" or "sanitized", got {traces!r}')
    agents.set_trace_processors([])
    if traces == "sanitized":
        exporter = SanitizedExporter(sanitizer, default_exporter())
        agents.set_trace_processors([BatchTraceProcessor(exporter)])
    agents.set_tracing_disabled(traces == "off")
    shielded = shield(AsyncOpenAI() if client is None else client, sanitizer)
    agents.set_default_openai_client(shielded, use_for_tracing=traces == "sanitized")
    return shielded


class SanitizedExporter(TracingExporter):
    """Exporter that hands sanitized traces and spans to another one.

    Guarantee: a span that cannot be sanitized is left out.
    """

    def __init__(self, sanitizer: Sanitizer, exporter: TracingExporter) -> None:
        self._turns = Turns(sanitizer)
        self._exporter = exporter

    def export(self, items: list[Any]) -> None:
        """Export traces and spans."""
        self._exporter.export([_Sanitized(item, self._turns) for item in items])


class _Sanitized:
    """A trace or a span whose export is sanitized."""

    def __init__(self, item: Any, turns: Turns) -> None:
        self.tracing_api_key = item.tracing_api_key
        self._item = item
        self._turns = turns

    def export(self) -> Json | None:
        exported = self._item.export()
        if exported is None:
            return None
        try:
            sanitized = self._turns.begin({"messages": [], "trace": _parts(exported)})
        except Exception:
            return None  # neither its text nor its error, which may quote it, may leave
        return _merged(exported, sanitized.request["trace"])


_TEXT = ("span_data", "error", "metadata", "group_id")


def _texts(value: Any) -> Any:
    """Return a value of a span as JSON values; anything else by its `str`, as text."""
    if isinstance(value, dict):
        return {str(key): _texts(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_texts(inner) for inner in value]
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)


def _parts(exported: Json) -> Json:
    """Return the parts of a trace or span that may hold text, without what programs name."""
    found: Json = {key: exported[key] for key in _TEXT if exported.get(key) is not None}
    data = found.get("span_data")
    if isinstance(data, dict):
        found["span_data"] = {k: v for k, v in data.items() if k not in _NAMES}
    return {key: _texts(value) for key, value in found.items()}


def _merged(exported: Json, sanitized: Json) -> Json:
    """Return a trace or span with sanitized parts in their places."""
    merged = {**exported, **sanitized}
    if isinstance(data := exported.get("span_data"), dict):
        names = {k: v for k, v in data.items() if k in _NAMES}
        merged["span_data"] = {**names, **sanitized["span_data"]}
    return merged


def input_filter(sanitizer: Sanitizer) -> Callable[[CallModelData[Any]], ModelInputData]:
    """Return a `call_model_input_filter` for `RunConfig`, which works with models of any provider.

    The model's answers keep stand-ins, and so do the arguments of its tool calls: use it where no
    shielded client can be (`shield_agents` restores answers too), and restore the final output with
    `sanitizer.restore`. The run's history keeps the originals.

    Guarantee: as `Turns`, for input and instructions; descriptions of tools are not looked at.
    Not protected: traces (`shield_agents`).
    """
    turns = Turns(sanitizer)

    def sanitize(data: CallModelData[Any]) -> ModelInputData:
        given = data.model_data
        request: Json = {"input": json.loads(json.dumps(given.input))}
        if given.instructions is not None:
            request["instructions"] = given.instructions
        sanitized = turns.begin(request, "responses").request
        return ModelInputData(input=sanitized["input"], instructions=sanitized.get("instructions"))

    return sanitize
