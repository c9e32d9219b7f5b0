"""LangChain: shielded clients for its models of OpenAI's API, and a middleware for any agent.

    model = ChatOpenAI(model="gpt-4.1-mini", **openai_clients(Sanitizer()))
    agent = create_agent(any_model, tools, middleware=[SanitizerMiddleware(Sanitizer())])

`SanitizerMiddleware` needs the package `langchain`, `openai_clients` does not.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from sanitizer.clients.frameworks import http_twins
from sanitizer.errors import RequestRefused
from sanitizer.integrations.turns import Json, Turn, TurnEvents, Turns
from sanitizer.pipeline.sanitizer import Sanitizer

if TYPE_CHECKING:
    from langchain.agents.middleware import AgentMiddleware
    from langgraph.stream import StreamTransformer
else:
    try:
        from langchain.agents.middleware import AgentMiddleware
        from langgraph.stream import StreamTransformer
    except ModuleNotFoundError:  # only the middleware needs it, and says so
        AgentMiddleware = StreamTransformer = object

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
# Fields of a content block that name something and hold no text.
_BLOCK_NAMES = ("type", "id", "name", "index")


def openai_clients(sanitizer: Sanitizer, *, trusted_tracing: bool = False) -> dict[str, Any]:
    """Return both HTTP clients for `ChatOpenAI`, `OpenAI` and their like, as arguments.

    With one of them alone, calls of the other sort go through a client that LangChain builds.

    Guarantee: as `http_twins`; refused while LangSmith's tracing is on.
    Not protected: callbacks that you have added.

    Args:
        trusted_tracing: LangSmith may see the messages as they are.

    Raises:
        RequestRefused: LangSmith's tracing is on.
    """
    return http_twins(sanitizer, trusted_tracing=trusted_tracing)


class SanitizerMiddleware(AgentMiddleware):
    """Middleware of an agent: its model sees stand-ins, its tools, state and user the originals.

    Works with models of every provider, whole and streamed: `stream_events(version="v3")` is
    restored as it comes. Put it last among the middleware, next to the model.

    Guarantee: as `Turns`, for messages, system message and tool calls of the agent's model; a
    description of a tool that holds an identifier is refused.
    Not protected: model calls that other middleware makes (summaries); model settings; LangSmith,
    which gets the agent's state; `stream(stream_mode="messages")`, which shows stand-ins.

    Args:
        trusted_tracing: LangSmith may see the messages as they are.
    """

    def __init__(self, sanitizer: Sanitizer, *, trusted_tracing: bool = False) -> None:
        if AgentMiddleware is object:
            raise ImportError("langchain is missing: pip install langchain")
        super().__init__()
        self._sanitizer = sanitizer
        self._turns = Turns(sanitizer)
        self._trusted_tracing = trusted_tracing
        self.transformers = (partial(RestoringTransformer, turns=self._turns),)

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Call the model with stand-ins; return its response with originals."""
        turn, sent = self._begin(request)
        return self._restored(turn, handler(sent))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Call the model with stand-ins; return its response with originals."""
        from anyio.to_thread import run_sync

        turn, sent = await run_sync(self._begin, request)
        return self._restored(turn, await handler(sent))

    def _begin(self, request: Any) -> tuple[Turn, Any]:
        if not self._trusted_tracing:
            from sanitizer.clients.frameworks import refuse_tracing

            refuse_tracing()
        given = [*([request.system_message] if request.system_message else []), *request.messages]
        tools = [_tool(tool) for tool in request.tools]
        document: Json = {"messages": [_document(message) for message in given]}
        turn = self._turns.begin(document | ({"tools": tools} if tools else {}))
        if tools and turn.request["tools"] != tools:
            told = "the description of a tool holds an identifier; nothing was sent"
            raise RequestRefused(told, "structure")
        pairs = zip(given, turn.request["messages"], strict=True)
        sent = [_changed(message, new) for message, new in pairs]
        system = sent.pop(0) if request.system_message else None
        return turn, request.override(messages=sent, system_message=system)

    def _restored(self, turn: Turn, response: Any) -> Any:
        inner = getattr(response, "model_response", response)
        if hasattr(inner, "result"):
            inner.result = [self._message(turn, message) for message in inner.result]
            inner.structured_response = _restored(inner.structured_response, self._sanitizer)
            return response
        return self._message(turn, response)

    def _message(self, turn: Turn, message: Any) -> Any:
        if message.type == "ai":
            return _changed(message, turn.message(_document(message)))
        return message.model_copy(update={"content": _restored(message.content, self._sanitizer)})


def _document(message: Any) -> Json:
    """Return a message as one of OpenAI's chat; fields of LangChain's own are text."""
    role = _ROLES.get(message.type)
    if role is None:
        raise RequestRefused(f"messages of type {message.type} cannot be read", "structure")
    found: Json = {"name": message.name, "additional_kwargs": message.additional_kwargs}
    if role == "assistant":
        found["tool_calls"] = [_call(call) for call in message.tool_calls]
        found["invalid_tool_calls"] = message.invalid_tool_calls
    named = {"tool_call_id": message.tool_call_id} if role == "tool" else {}
    filled = {k: v for k, v in found.items() if v}
    return {"role": role, "content": message.content, **named, **filled}


def _call(call: Mapping[str, Any]) -> Json:
    function = {"name": call["name"], "arguments": json.dumps(call["args"])}
    return {"id": call["id"] or "call", "type": "function", "function": function}


def _changed(message: Any, document: Json) -> Any:
    """Return a copy of a message with the texts of a document."""
    update: Json = {"content": _content(message.content, document["content"])}
    names = ("name", "additional_kwargs", "invalid_tool_calls")
    update |= {name: document[name] for name in names if name in document}
    if "tool_calls" in document:
        pairs = zip(message.tool_calls, document["tool_calls"], strict=True)
        read = [(call, json.loads(new["function"]["arguments"])) for call, new in pairs]
        update["tool_calls"] = [{**call, "args": args} for call, args in read]
    return message.model_copy(update=update)


def _content(given: Any, new: Any) -> Any:
    if not isinstance(given, list):
        return new
    return [
        {**block, **{k: old[k] for k in _BLOCK_NAMES if k in old}}
        if isinstance(block, dict) and isinstance(old, dict)
        else block
        for old, block in zip(given, new, strict=True)
    ]


def _tool(tool: Any) -> Json:
    from langchain_core.utils.function_calling import convert_to_openai_tool

    found: Json = json.loads(json.dumps(convert_to_openai_tool(tool)))
    return found


def _restored(value: Any, sanitizer: Sanitizer) -> Any:
    """Return a value with originals in every string of it."""
    if isinstance(value, str):
        return str(sanitizer.inner.answers.restorer().text(value))
    if isinstance(value, list):
        return [_restored(inner, sanitizer) for inner in value]
    if isinstance(value, dict):
        return {key: _restored(inner, sanitizer) for key, inner in value.items()}
    if hasattr(value, "model_copy"):
        fields = {name: _restored(inner, sanitizer) for name, inner in value}
        return value.model_copy(update=fields)
    return value


class RestoringTransformer(StreamTransformer):
    """Transformer of an agent's stream: text and arguments of tools with originals, as they come.

    `scope` is the part of the graph it is for.
    """

    before_builtins: ClassVar[bool] = True
    supports_sync: ClassVar[bool] = True
    required_stream_modes: ClassVar[tuple[str, ...]] = ("messages",)

    def __init__(self, scope: tuple[str, ...] = (), *, turns: Turns) -> None:
        super().__init__(scope)
        self._turns = turns
        self._open: dict[tuple[str, int], _Block] = {}
        self._mux: Any = None
        self._adding = False

    def init(self) -> dict[str, Any]:
        """Return no projection: events are changed where they are."""
        return {}

    def _on_register(self, mux: Any) -> None:
        self._mux = mux

    def process(self, event: Any) -> bool:
        """Restore one event; text that was held back comes before the end of its block."""
        if (held := self._event(event)) is not None:
            with self._as_added():
                self._mux.push(held)
        return True

    async def aprocess(self, event: Any) -> bool:
        """Restore one event, as `process`."""
        if (held := self._event(event)) is not None:
            with self._as_added():
                await self._mux.apush(held)
        return True

    @contextmanager
    def _as_added(self) -> Iterator[None]:
        self._adding = True
        try:
            yield
        finally:
            self._adding = False

    def _event(self, event: Any) -> Any:
        """Restore an event; return one to add before it, or None."""
        data = event["params"].get("data")
        if self._adding or event["method"] != "messages" or not isinstance(data, tuple):
            return None
        payload, metadata = data
        if hasattr(payload, "content") and getattr(payload, "type", "") == "ai":
            turn = self._turns.begin({"messages": []})
            whole = _changed(payload, turn.message(_document(payload)))
            event["params"]["data"] = (whole, metadata)
            return None
        if not isinstance(payload, dict) or not isinstance(payload.get("index"), int):
            return None
        run = str((metadata or {}).get("run_id") or event["params"].get("namespace"))
        place = (run, payload["index"])
        if payload.get("event") == "content-block-finish":
            return self._finished(place, payload, event, metadata)
        if payload.get("event") == "content-block-delta":
            self._delta(place, payload["delta"])
        return None

    def _delta(self, place: tuple[str, int], delta: Json) -> None:
        field = _FIELDS.get(str(delta.get("type")))
        fields = delta.get("fields")
        if field is None and isinstance(fields, dict) and isinstance(fields.get("args"), str):
            # Older cores repeat all arguments so far: what is whole is restored each time.
            fields["args"] = _Block(self._turns, "args").feed(fields["args"])
        if field is None or not isinstance(delta.get(field), str):
            return
        block = self._open.setdefault(place, _Block(self._turns, field))
        delta[field] = block.feed(delta[field])

    def _finished(
        self, place: tuple[str, int], payload: Json, event: Any, metadata: Any
    ) -> Json | None:
        content = payload.get("content")
        if isinstance(content, dict):
            turn = self._turns.begin({"messages": []})
            message = turn.message({"role": "assistant", "content": [content]})
            payload["content"] = _content([content], message["content"])[0]
        block = self._open.pop(place, None)
        if block is None or not (held := block.finish()):
            return None
        delta = {"type": block.kind, block.field: held}
        added = {"event": "content-block-delta", "index": place[1], "delta": delta}
        return {**event, "params": {**event["params"], "data": (added, metadata)}}


_FIELDS = {"text-delta": "text", "reasoning-delta": "reasoning", "tool-call-delta": "args"}


class _Block:
    """One block of a streamed message, restored as a chat's text or tool call."""

    def __init__(self, turns: Turns, field: str) -> None:
        self.field = field
        self.kind = next(kind for kind, name in _FIELDS.items() if name == field)
        self._events: TurnEvents = turns.begin({"messages": []}).events()

    def feed(self, piece: str) -> str:
        call = {"index": 0, "function": {"arguments": piece}}
        delta = {"tool_calls": [call]} if self.field == "args" else {"content": piece}
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        return self._text(self._events.feed({"choices": [choice]}))

    def finish(self) -> str:
        return self._text(self._events.finish())

    def _text(self, events: list[Json]) -> str:
        deltas = [event["choices"][0]["delta"] for event in events]
        if self.field == "args":
            calls = [call for delta in deltas for call in delta.get("tool_calls") or []]
            return "".join(call["function"].get("arguments") or "" for call in calls)
        return "".join(delta.get("content") or "" for delta in deltas)
