"""Walls around programs: what hostile ones try outside is kept out, what honest ones need inside works."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitprun.model.units import Exit
from gitprun.supervisor import landlock, sandbox
from gitprun.supervisor.process import ProcessLimits, ProcessSpec, run
from gitprun.supervisor.sandbox import Sandbox, SandboxKind, find_sandbox, hidden_doors, make_sandbox
from tests.support.cases import crossed, slow

KINDS = ("landlock", "own-view", "bwrap", "codex")
# Landlock alone knows nothing of modes and times.
WALLED_MODES = ("own-view", "bwrap", "codex")


def walls_of(kind: str) -> SandboxKind:
    """Give the walls of one kind, if they work here; skip where they do not."""
    if kind in ("landlock", "own-view"):
        found = sandbox._try_landlock()
        if found.kind is None or (kind == "own-view" and not found.own_view):
            pytest.skip(f"{kind} does not work here: {found.reason}")
        return SandboxKind(kind="landlock", own_view=kind == "own-view")
    program = shutil.which(kind) or bundled(kind)
    if program is None:
        pytest.skip(f"{kind} is not installed")
    found = sandbox._try_program("bwrap" if kind == "bwrap" else "codex", program)
    if found.kind is None:
        pytest.skip(found.reason)
    return found


def bundled(kind: str) -> str | None:
    """Find what the wheel of codex brings along."""
    try:
        import codex_cli_bin  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        return None
    place = Path(codex_cli_bin.bundled_codex_path())
    program = place if kind == "codex" else place.parents[1] / "codex-resources" / kind
    return str(program) if program.is_file() else None


@dataclass(frozen=True, slots=True)
class Yard:
    """A workspace with walls around it, and something of the user's outside."""

    kind: str
    workspace: Path
    temporary: Path
    mine: Path
    sandbox: Sandbox

    def run(self, script: str, *words: str, timeout: float = 60.0) -> tuple[Exit, str]:
        """Run a shell script within the walls; gives its end and all it printed."""
        log = self.workspace.parent / "log"
        log.unlink(missing_ok=True)
        env = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "TMPDIR": str(self.temporary), "LC_ALL": "C"}
        env |= {"GIT_CONFIG_GLOBAL": os.devnull, "CODEX_HOME": str(self.workspace.parent / "codex")}
        argv = [*self.sandbox.prefix, "/bin/sh", "-c", script, "sh", *words]
        program = ProcessSpec(argv=argv, cwd=self.workspace, env=env, stdout=log, confine=self.sandbox.confine)
        ended = run(program, ProcessLimits(timeout=timeout))
        return ended, log.read_text(errors="replace")

    def python(self, code: str, *words: str) -> tuple[Exit, str]:
        """Run Python within the walls."""
        (self.workspace / "code.py").write_text(textwrap.dedent(code))
        return self.run('exec "$0" code.py "$@"'.replace("$0", sys.executable), *words)


@pytest.fixture(params=KINDS)
def yard(request: pytest.FixtureRequest, tmp_path: Path) -> Yard:
    folders = {name: tmp_path / name for name in ("workspace", "temporary", "mine", "codex")}
    for folder in folders.values():
        folder.mkdir()
    (folders["mine"] / "file").write_text("mine\n")
    (folders["mine"] / "folder").mkdir()
    workspace, temporary = folders["workspace"], folders["temporary"]
    made = make_sandbox(walls_of(request.param), [workspace, temporary])
    return Yard(request.param, workspace, temporary, folders["mine"], made)


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Take down names, modes, numbers of links and contents below a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(about.st_mode) else b""
        found[str(path.relative_to(folder))] = (about.st_mode, about.st_nlink, content)
    return found


OUTSIDE = {
    "write": 'echo bad >"$1/file"',
    "append": 'echo bad >>"$1/file"',
    "create": 'echo bad >"$1/new"',
    "remove": 'rm -f "$1/file"',
    "remove a folder": 'rmdir "$1/folder"',
    "make a folder": 'mkdir "$1/more"',
    "make a link": 'ln -s file "$1/link"',
    "make a fifo": 'mkfifo "$1/fifo"',
    "rename within": 'mv "$1/file" "$1/other"',
    "take out": 'mv "$1/file" taken',
    "put in": 'echo bad >planted; mv planted "$1/planted"',
    "put in over": 'echo bad >planted; mv -f planted "$1/file"',
    "hard link and write": 'ln "$1/file" hard && echo bad >hard',
    "hard link out": 'echo bad >planted; ln "$1/../workspace/planted" "$1/planted"',
    "through a link": 'ln -s "$1/file" soft; echo bad >soft',
    "through a linked folder": 'ln -s "$1" way; echo bad >way/file; echo bad >way/new',
    "through our own root": 'echo bad >"/proc/self/root$1/file"; echo bad >"/proc/$$/cwd/../mine/file"',
    "truncate": 'truncate -s 0 "$1/file"',
    "from a daemon": '(setsid sh -c \'echo bad >"$1/file"\' sh "$1" &) ; sleep 0.3',
    "exec another shell": 'exec sh -c \'exec sh -c "echo bad >$0/file"\' "$1"',
    "with a new name space": 'unshare -Urm sh -c \'mount -o remount,rw /; echo bad >"$1/file"\' sh "$1"',
    "mount": 'mount --bind . "$1"; mount -o remount,rw /; mount -o remount,rw,bind "$1"; echo bad >"$1/file"',
}


@pytest.mark.parametrize(("yard", "attack"), crossed(KINDS, tuple(OUTSIDE)), indirect=["yard"])
def test_nothing_outside_is_written(yard: Yard, attack: str) -> None:
    before = snapshot(yard.mine)
    ended, said = yard.run(f"echo begun; {OUTSIDE[attack]}; echo ended", str(yard.mine))
    assert (ended.reason, said.partition("\n")[0]) == ("exited", "begun")
    assert snapshot(yard.mine) == before


@pytest.mark.parametrize("attack", ["chmod 777 {0}", "touch -d 2000-01-01 {0}", "chmod u+s {0}"])
def test_not_even_modes_and_times(yard: Yard, attack: str) -> None:
    if yard.kind not in WALLED_MODES:
        pytest.skip("Landlock alone does not know of them")
    about = (yard.mine / "file").lstat()
    yard.run(attack.format(f'"{yard.mine}/file"'))
    now = (yard.mine / "file").lstat()
    assert (now.st_mode, now.st_mtime_ns) == (about.st_mode, about.st_mtime_ns)


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    """Give a process of the user's with a secret in its environment and its memory."""
    code = "import sys; secret = 'hunter' + '2' * 3; print('up', flush=True); sys.stdin.read()"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], env={"TOKEN": "hunter222"}, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_other_processes_are_out_of_reach(yard: Yard, victim: subprocess.Popen[bytes]) -> None:
    if yard.kind == "landlock" and landlock.abi() < 6:
        pytest.skip("this kernel's Landlock does not hold back signals")
    ended, said = yard.python(
        """
        import ctypes, os, signal, sys
        pid = int(sys.argv[1])
        libc = ctypes.CDLL(None, use_errno=True)
        def attempt(what, act):
            try:
                act()
            except OSError:
                print(what, "denied")
            else:
                print(what, "DONE")
        def ptrace():
            if libc.ptrace(16, pid, None, None) != 0:
                raise OSError(ctypes.get_errno(), "ptrace")
        for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
            attempt(number.name, lambda: os.kill(pid, number))
        attempt("environ", lambda: open(f"/proc/{pid}/environ").read())
        attempt("memory", lambda: open(f"/proc/{pid}/mem", "rb"))
        attempt("memory to write", lambda: open(f"/proc/{pid}/mem", "r+b"))
        attempt("files", lambda: os.listdir(f"/proc/{pid}/fd") and open(f"/proc/{pid}/fd/1", "wb"))
        attempt("root", lambda: os.listdir(f"/proc/{pid}/root/"))
        attempt("ptrace", ptrace)
        """,
        str(victim.pid),
    )
    assert said.splitlines() == [
        f"{what} denied"
        for what in ("SIGKILL", "SIGSTOP", "SIGTERM", "environ", "memory", "memory to write", "files", "root", "ptrace")
    ]
    assert (ended.code, victim.poll()) == (0, None)


def test_a_socket_without_a_name_in_the_file_system_is_out_of_reach(yard: Yard) -> None:
    if yard.kind in ("bwrap", "codex"):
        pytest.skip("the network is left open, and such names belong to it")
    if landlock.abi() < 6:
        pytest.skip("this kernel's Landlock does not hold these back")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(f"\0prun-test-{os.getpid()}")
        door.listen()
        ended, said = yard.python(
            """
            import socket, sys
            try:
                socket.socket(socket.AF_UNIX).connect("\\0" + sys.argv[1])
                print("in")
            except OSError as problem:
                print(problem.strerror)
            """,
            f"prun-test-{os.getpid()}",
        )
    assert (ended.code, said) == (0, "Operation not permitted\n")


def test_doors_that_are_known_are_shut(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    if yard.kind in ("landlock", "codex"):
        pytest.skip("only where the file system is a view of our own")
    door = yard.mine / "agent"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(door))
        listening.listen()
        monkeypatch.setenv("SSH_AUTH_SOCK", str(door))
        made = make_sandbox(walls_of(yard.kind), [yard.workspace, yard.temporary])
        shut = Yard(yard.kind, yard.workspace, yard.temporary, yard.mine, made)
        code = """
            import socket, sys
            try:
                socket.socket(socket.AF_UNIX).connect(sys.argv[1])
                print("in")
            except OSError as problem:
                print("out")
            """
        assert [one.python(code, str(door))[1] for one in (yard, shut)] == ["in\n", "out\n"]
    assert stat.S_ISSOCK(door.lstat().st_mode)


def test_tmp_is_a_folder_of_ones_own_where_nothing_needed_lies_there(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    if yard.kind in ("landlock", "codex"):
        pytest.skip("only where the file system is a view of our own")
    folders = [yard.workspace, yard.temporary]
    monkeypatch.setattr(sandbox, "_needed_below", lambda place, _: place == "/tmp")
    assert make_sandbox(walls_of(yard.kind), folders, temporary=yard.temporary) == yard.sandbox
    monkeypatch.setattr(sandbox, "_needed_below", lambda place, _: place != "/tmp")
    (outside := Path("/tmp", f"prun-test-{os.getpid()}")).unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        folders = [Path(place, name) for name in ("workspace", "temporary")]
        for folder in folders:
            folder.mkdir()
        made = make_sandbox(walls_of(yard.kind), folders, temporary=folders[1])
        inside = Yard(yard.kind, folders[0], folders[1], yard.mine, made)
        ended, said = inside.run('echo 1 >"$1"; ls /tmp; cat "$TMPDIR"/*', str(outside))
        assert (ended.code, said, outside.exists()) == (0, f"{outside.name}\n1\n", False)
        assert [path.name for path in folders[1].iterdir()] == [outside.name]


def test_what_lies_in_a_hidden_place_is_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "workspace"
    inside.mkdir()
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path))
    monkeypatch.setenv("TMUX", f"{tmp_path}/gone,1,0")
    assert str(tmp_path) in hidden_doors([])
    assert str(tmp_path) not in hidden_doors([str(inside)])
    assert f"{tmp_path}/gone" not in hidden_doors([])


HONEST = {
    "files": "mkdir -p a/b; echo 1 >a/b/f; mv a/b/f g; ln g h; ln -s h i; rm h; chmod 755 g; touch g; cat g",
    "temporary": 'f=$(mktemp); echo 1 >"$f"; mv "$f" here; d=$(mktemp -d); rmdir "$d"; cat here',
    "devices": "echo x >/dev/null; head -c 1 /dev/urandom >r; head -c 1 /dev/zero >z; cat r z | wc -c | tr -d ' '",
    "streams": "echo to stderr >>/dev/stderr; echo out >>/dev/stdout; echo 1 >>/proc/self/fd/2",
    "reading": 'cat "$1/file"; ls / >/dev/null; cat /proc/self/status >/dev/null; ls /proc/self/fd >/dev/null',
    "programs": f"{sys.executable} -c 'print(1)'",
    "children": "sleep 60 & kill $!; wait; (echo sub); seq 9 | head -n 1",
}
SAID = {
    "files": "1\n",
    "temporary": "1\n",
    "devices": "2\n",
    "streams": "to stderr\nout\n1\n",
    "reading": "mine\n",
    "programs": "1\n",
    "children": "sub\n1\n",
}


@pytest.mark.parametrize("need", HONEST)
def test_honest_programs_find_what_they_need(yard: Yard, need: str) -> None:
    ended, said = yard.run(f"set -e; {HONEST[need]}" if need != "children" else HONEST[need], str(yard.mine))
    assert (ended.code, said) == (0, SAID[need])


def test_git_works_in_a_repository_inside(yard: Yard) -> None:
    if yard.kind == "codex":
        pytest.skip("codex keeps .git to itself")
    script = """
    set -e; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
    git init -q -b main . ; echo 1 >f; git add f; git commit -qm one; git status --porcelain; git rev-parse HEAD | wc -c
    git checkout -q -b other; echo 2 >f; git stash -q; git stash pop -q; git diff --stat | tail -n 1
    """
    ended, said = yard.run(script)
    assert (ended.code, said.split()) == (
        0,
        ["41", *["1", "file", "changed,", "1", "insertion(+),", "1", "deletion(-)"]],
    )


def test_git_reads_a_linked_worktree_whose_repository_is_outside(yard: Yard) -> None:
    git = ["git", "-c", "init.defaultBranch=main"]
    subprocess.run([*git, "init", "-q", str(yard.mine)], check=True)
    for words in (("add", "file"), ("commit", "-qm", "one"), ("worktree", "add", "-q", str(yard.workspace / "w"))):
        subprocess.run([*git, "-C", str(yard.mine), *words], check=True)
    before = snapshot(yard.mine)
    ended, said = yard.run(
        "cd w; echo more >>file; export GIT_OPTIONAL_LOCKS=0; git status --porcelain; git branch --show-current;"
        " git log --format=%s; git diff --shortstat; git commit -qam bad 2>/dev/null || echo refused"
    )
    assert (ended.code, said) == (0, " M file\nw\none\n 1 file changed, 1 insertion(+)\nrefused\n")
    assert snapshot(yard.mine) == before


def test_python_finds_locks_servers_and_terminals(yard: Yard) -> None:
    ended, said = yard.python(
        """
        import multiprocessing, os, socket, sys, tempfile, threading
        def double(x):
            return 2 * x
        if __name__ == "__main__":
            print(multiprocessing.get_context("fork").Lock() is not None)
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(pool.map(double, [1, 2]))
            server = socket.create_server(("127.0.0.1", 0))
            print(socket.create_connection(server.getsockname()) is not None)
            near = socket.socket(socket.AF_UNIX); near.bind("near.sock"); near.listen()
            socket.socket(socket.AF_UNIX).connect("near.sock")
            print(tempfile.gettempdir() == os.environ["TMPDIR"])
            if sys.argv[1] == "terminals":
                import pty
                pid, end = pty.fork()
                if not pid:
                    os.write(1, b"tty " + (b"yes" if os.isatty(0) else b"no")); os._exit(0)
                print(os.read(end, 100).decode())
        """,
        "" if yard.kind == "landlock" else "terminals",
    )
    expected = ["True", "[2, 4]", "True", "True", *([] if yard.kind == "landlock" else ["tty yes"])]
    assert (ended.code, said.splitlines()) == (0, expected)


def test_terminals_of_the_user_are_not_seen(yard: Yard) -> None:
    leader, follower = os.openpty()
    try:
        name = os.ttyname(follower)
        ended, _ = yard.run('echo bad >"$1"', name)
        os.set_blocking(leader, False)
        with pytest.raises(BlockingIOError):
            os.read(leader, 100)
        assert ended.code != 0
    finally:
        os.close(leader)
        os.close(follower)


def test_a_daemon_does_not_survive(yard: Yard) -> None:
    ended, _ = yard.run("(setsid sh -c 'exec sleep 1000' &) ; echo")
    still = subprocess.run(["pgrep", "-f", "^sleep 1000$"], capture_output=True, text=True, check=False).stdout.split()
    own = [pid for pid in still if os.path.realpath(f"/proc/{pid}/cwd") == str(yard.workspace)]
    assert (ended.code, own) == (0, [])


@pytest.mark.parametrize("yard", [KINDS[2], *slow(*KINDS[:2], KINDS[3])], indirect=True)
def test_a_time_limit_holds_within_walls(yard: Yard) -> None:
    ended, _ = yard.run("sleep 1000", timeout=0.5)
    assert ended.reason == "timeout"


def test_root_keeps_no_right_that_opens_walls(yard: Yard) -> None:
    if os.geteuid() != 0 or yard.kind in ("bwrap", "codex"):
        pytest.skip("only Landlock leaves root its rights")
    _, said = yard.run("grep -E '^Cap(Eff|Bnd|Prm)' /proc/self/status")
    left = {int(line.split()[1], 16) & sum(1 << number for number in landlock.DROPPED) for line in said.splitlines()}
    assert left == {0}


def test_what_cannot_be_confined_is_not_started(tmp_path: Path) -> None:
    walls = walls_of("landlock")
    made = make_sandbox(walls, [tmp_path, tmp_path / "gone"])
    log = tmp_path / "log"
    program = ProcessSpec(argv=["sh", "-c", "echo ran"], cwd=tmp_path, env={}, stdout=log, confine=made.confine)
    ended = run(program, ProcessLimits(timeout=10.0))
    assert (ended.reason, ended.code, log.read_text()) == ("not-started", None, "")
    assert ended.detail.startswith("confinement: ")


def test_walls_are_looked_for_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_known", {})
    monkeypatch.setattr(landlock, "abi", lambda: 2)
    for name in ("bwrap", "codex"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    old = "the kernel's Landlock is too old (6.2 or later has one)"
    assert find_sandbox(str(tmp_path)) == SandboxKind(
        kind=None, reason=f"{old}, bwrap does not work here, codex does not work here"
    )
    assert make_sandbox(find_sandbox(str(tmp_path)), [tmp_path]) == Sandbox(
        said=f"none: {old}, bwrap does not work here, codex does not work here"
    )
    monkeypatch.setattr(sandbox, "_known", {})
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    monkeypatch.setattr("gitprun.supervisor.programs.EXTRA", "no_such_module")
    assert find_sandbox("/nowhere") == SandboxKind(
        kind=None, reason="no Landlock in the kernel, bwrap is not installed, codex is not installed"
    )


def test_a_program_that_confines_nothing_does_not_count(tmp_path: Path) -> None:
    """Whoever calls himself bwrap has to keep a write out."""
    fake = tmp_path / "bwrap"
    fake.write_text('#!/bin/sh\nwhile [ "$1" != "--" ]; do shift; done; shift; exec "$@"\n')
    fake.chmod(0o755)
    assert sandbox._try_program("bwrap", str(fake)) == SandboxKind(kind=None, reason="bwrap does not work here")


@pytest.mark.skipif(os.geteuid() == 0, reason="root needs no name space of users")
def test_the_user_stays_who_he_is(yard: Yard) -> None:
    _, said = yard.run("id -u; id -g")
    assert said.split() == [str(os.getuid()), str(os.getgid())]
