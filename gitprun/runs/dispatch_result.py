"""The result of a dispatched unit: its worker's, or salvaged, and what came of it written down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gitprun.executors.base import Ending
from gitprun.executors.catalog import require_executor
from gitprun.executors.compact import readable_output
from gitprun.ledger.outcome import ending_row, exit_row
from gitprun.model.contract import FALLBACK_MARK, parse_result
from gitprun.model.escapes import readable
from gitprun.model.units import Exit
from gitprun.registry.state_folder import StateDir, read_state_dir, write_record
from gitprun.runs.listen import read_output
from gitprun.supervisor.process import read_exit
from gitprun.system.files import read_plain, tail, write_whole

# A result is a page for people; what is larger was not meant as one, and is not loaded into memory.
MAX_RESULT = 4_000_000
# So much of an output's end tells how a worker broke off, and can still be read by whoever gathers results.
MAX_TAIL = 64_000

# Literal text of the seed's protocol: scripts look for it.
SALVAGE: Final = """# {unit} result {mark}
Conclusion: INCOMPLETE; structured result missing, raw worker output salvaged from the dispatch tail below.
Files: unknown
Open items: worker did not write its result file; review the raw output below or re-dispatch this unit.
Verification: none (salvaged by dispatch-task, not by the worker)

"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalizedUnit:
    """What came of a unit: how its worker ended, whether its result is a salvage, why none could be written."""

    ended: Exit
    ending: Ending
    fallback: bool
    problem: str = ""


def has_content(path: Path) -> bool:
    """Check whether a file is there and not empty."""
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def finalize_unit(folder: Path, ended: Exit | None = None, start: int = 0) -> FinalizedUnit:
    """See to the result of a unit whose last worker has ended, and write down what came of it.

    A result the worker wrote is never touched. Without one its last message is taken if it follows the contract;
    else its output is salvaged. Without ``ended`` the supervisor's own record says how the worker ended. ``start`` is
    the byte of the output at which the last attempt began.
    """
    state = read_state_dir(folder)
    # No record: the supervisor was killed as well, and nobody knows more of the worker's end.
    said = ended or read_exit(folder / "exit.json") or Exit(
        code=None, signal=9, reason="exited", seconds=0.0, detail="dispatcher and worker were killed"
    )  # fmt: skip
    executor = require_executor(str(state.asked.get("executor") or "codex"))
    ending = executor.ending(_lines(folder / "tail", start), said)
    result, fallback, problem = Path(state.result), False, ""
    # A file that is there is the worker's, however it looks: salvage never takes its place.
    if not has_content(result):
        text = last_message(state, ending)
        fallback = not text
        try:
            result.parent.mkdir(parents=True, exist_ok=True)
            # 0666 as any program writes a file: the umask decides who reads it.
            write_whole(result, (text or salvaged(state, ending)).encode("utf-8", "replace"), mode=0o666)
        except OSError as trouble:
            problem = f"the result file {result} could not be written: {trouble.strerror}"
    record: dict[str, object] = {"unit": state.unit, "result": state.result, "fallback": fallback, "problem": problem}
    record |= {"exit": exit_row(said).as_json(), "ending": ending_row(ending).as_json()}
    write_record(folder, "ending.json", record)
    return FinalizedUnit(ended=said, ending=ending, fallback=fallback, problem=problem)


def last_message(state: StateDir, ending: Ending) -> str:
    """Return the worker's last message if it follows the contract; else an empty text."""
    left = (read_plain(state.path / "last-message.txt", MAX_RESULT) or b"").decode("utf-8", "replace")
    return next((said for said in (ending.message, left) if parse_result(said, state.unit).valid), "")


def salvaged(state: StateDir, ending: Ending) -> str:
    """Write the result of a worker that wrote none: the seed's header, its last message, the end of its output."""
    output = state.path / "tail"
    size = output.stat().st_size if output.exists() else 0
    body = readable_output(tail(output, MAX_TAIL))
    if size > MAX_TAIL:
        body = f"(the last {MAX_TAIL // 1000} kB of {size / 1e6:.1f} MB; all of it is in {output})\n{body}"
    if ending.message.strip():
        body = f"The worker's last message:\n\n{readable(ending.message.rstrip())}\n\nThe end of its output:\n\n{body}"
    return SALVAGE.format(unit=state.unit, mark=FALLBACK_MARK) + body


def _lines(path: Path, start: int) -> Iterator[bytes]:
    if path.exists():
        yield from read_output(path, start)
