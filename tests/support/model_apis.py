"""The two APIs of the scripted model: OpenAI Responses (codex) and Anthropic Messages (claude).

Only what the programs need is sent. Both end a stream with one event; without it they count it as dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from tests.support.model_steps import Done, Failed, Item, Patch, Say, ScriptError, Shell, Step, Write

Json: TypeAlias = dict[str, Any]
Api: TypeAlias = Literal["responses", "messages"]

_CLAUDE_FOLDER = re.compile(r"working directory: ([^\n]+)", re.IGNORECASE)


def stream_events(api: Api, step: Step, n: int, body: Json) -> list[Json]:
    """Render a step as the events of the stream that answers the n-th request."""
    if api == "responses":
        return list(_responses_events(step, f"answer_{n}"))
    return list(_messages_events(step, f"answer_{n}", body))


def error_body(api: Api, code: int) -> str:
    """Render the body of an HTTP error."""
    error = {"type": "scripted_error", "message": f"scripted status {code}"}
    return json.dumps({"error": error} if api == "responses" else {"type": "error", "error": error})


def user_texts(body: Json) -> Iterator[str]:
    """Yield the user's texts of a request; what tools gave back is not among them."""
    for message in body.get("input") or body.get("messages") or ():
        if message.get("role") == "user":
            content = message["content"]
            parts = [{"text": content}] if isinstance(content, str) else content
            yield from (part["text"] for part in parts if "text" in part)


def _responses_events(step: Step, name: str) -> Iterator[Json]:
    yield {"type": "response.created", "response": {"id": name}}
    for number, item in enumerate(step.items):
        yield {"type": "response.output_item.done", "item": _responses_item(item, f"{name}_{number}")}
    if isinstance(step.ending, Failed):
        error = {"code": step.ending.code, "message": step.ending.message}
        yield {"type": "response.failed", "response": {"id": name, "status": "failed", "error": error}}
    elif isinstance(step.ending, Done):
        usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        yield {"type": "response.completed", "response": {"id": name, "usage": usage}}


def _responses_item(item: Item, name: str) -> Json:
    match item:
        case Say(text):
            content = [{"type": "output_text", "text": text}]
            return {"type": "message", "role": "assistant", "id": name, "content": content}
        case Shell(command):
            arguments = json.dumps({"cmd": command})
            return {"type": "function_call", "call_id": name, "name": "exec_command", "arguments": arguments}
        case Patch(text):
            return {"type": "custom_tool_call", "call_id": name, "name": "apply_patch", "input": text}
        case Write(path, content):
            lines = "".join(f"+{line}\n" for line in content.removesuffix("\n").split("\n"))
            text = f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"
            return _responses_item(Patch(text), name)


def _messages_events(step: Step, name: str, body: Json) -> Iterator[Json]:
    blocks = [_messages_block(item, f"toolu_{name}_{number}", body) for number, item in enumerate(step.items)]
    usage = {"input_tokens": 100, "output_tokens": 10}
    unended: Json = {"stop_reason": None, "stop_sequence": None, "content": [], "usage": usage}
    message = {"id": name, "type": "message", "role": "assistant", "model": body["model"], **unended}
    yield {"type": "message_start", "message": message}
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            whole = json.dumps(block["input"])
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": whole}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    if isinstance(step.ending, Failed):
        yield {"type": "error", "error": {"type": step.ending.code, "message": step.ending.message}}
    elif isinstance(step.ending, Done):
        reason = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
        ended = {"stop_reason": reason, "stop_sequence": None}
        yield {"type": "message_delta", "delta": ended, "usage": usage}
        yield {"type": "message_stop"}


def _messages_block(item: Item, name: str, body: Json) -> Json:
    match item:
        case Say(text):
            return {"type": "text", "text": text}
        case Shell(command):
            arguments = {"command": command, "description": "run"}
            return {"type": "tool_use", "id": name, "name": "Bash", "input": arguments}
        case Write(path, content):
            # claude's Write takes absolute paths only.
            arguments = {"file_path": f"{_claude_folder(body)}/{path}", "content": content}
            return {"type": "tool_use", "id": name, "name": "Write", "input": arguments}
        case Patch():
            raise ScriptError("only codex knows patch(); use write()")


def _claude_folder(body: Json) -> str:
    """Find the worker's folder, as the program's own instructions state it."""
    system = body.get("system") or ""
    texts = [system] if isinstance(system, str) else [part["text"] for part in system]
    for message in body["messages"]:
        if message["role"] == "system" and isinstance(message["content"], str):
            texts.append(message["content"])
    found: list[str] = [name for text in (*texts, *user_texts(body)) for name in _CLAUDE_FOLDER.findall(text)]
    if not found:
        raise ScriptError("the request names no working directory")
    return found[-1].strip()
