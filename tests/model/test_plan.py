"""Plans and settings: TOML in, frozen values out, and one clear line for everything else."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest

from gitprun.model.errors import PlanError
from gitprun.model.names import UnitId
from gitprun.model.plan import Plan, Settings, parse_plan, parse_plan_settings, parse_settings, require_whole, together
from gitprun.model.powers import Power
from gitprun.model.units import ExecutorSettings, Unit

PROMPTS = {"p.md": "from a file\n", "empty.md": " \n"}


def read_prompt(name: str) -> str:
    if name not in PROMPTS:
        raise PlanError(f"prompt file {name} does not exist")
    return PROMPTS[name]


def plan(text: str, default: Settings | None = None) -> Plan:
    return parse_plan(tomllib.loads(text), "plan.toml", read_prompt, default or Settings())


def test_everything_a_plan_can_say() -> None:
    found = plan(
        """
        [run]
        base = "main"
        jobs = 4
        verify = ["pytest -q", "mypy"]
        verify_timeout = "10m"
        [workspace]
        root = "/var/tmp/prun"
        kind = "worktree"
        copy = [".env", "./conf/local.toml"]
        link = ["node_modules/"]
        [collect]
        max_file = "5MB"
        [executor.codex]
        program = "/opt/codex"
        args = ["-c", "", "x"]
        env = { CODEX_HOME = "/h" }
        isolate = false
        [[unit]]
        id = "reports"
        prompt_file = "p.md"
        executor = "codex"
        workspace = "clone"
        paths = ["src/reports/**"]
        timeout = "40m"
        model = "m"
        reasoning = "high"
        sandbox = "danger-full-access"
        [[unit]]
        id = "look"
        prompt = "look at it"
        mode = "read"
        command = ["sh", "look.sh", ""]
        """
    )
    assert found == Plan(
        units=(
            Unit(
                id=UnitId("reports"),
                prompt="from a file\n",
                executor="codex",
                command=(),
                mode="write",
                workspace="clone",
                paths=("src/reports/**",),
                timeout=2400.0,
                model="m",
                reasoning="high",
                sandbox="danger-full-access",
            ),
            Unit(
                id=UnitId("look"),
                prompt="look at it",
                executor="command",
                command=("sh", "look.sh", ""),
                mode="read",
                workspace="worktree",
                paths=(),
                timeout=3600.0,
                model=None,
                reasoning=None,
                sandbox="workspace-write",
            ),
        ),
        settings=Settings(
            base="main",
            jobs=4,
            verify=("pytest -q", "mypy"),
            verify_timeout=600.0,
            root="/var/tmp/prun",
            workspace="worktree",
            copy=(".env", "conf/local.toml"),
            link=("node_modules",),
            max_file=5_000_000,
            executors={
                "codex": ExecutorSettings(
                    program="/opt/codex", args=("-c", "", "x"), env=(("CODEX_HOME", "/h"),), isolate=False
                )
            },
        ),
    )


def test_the_least_a_plan_can_say() -> None:
    assert plan('[[unit]]\nid = "a"\nprompt = "x"') == Plan(
        units=(Unit(id=UnitId("a"), prompt="x", executor="codex"),), settings=Settings()
    )


def test_a_plan_speaks_over_the_configuration() -> None:
    below = parse_settings(
        tomllib.loads(
            '[run]\njobs = 2\nverify = ["make test"]\n[workspace]\nlink = ["deps"]\n[executor.claude]\nprogram = "c"'
        ),
        "prun.toml",
    )
    powers = (Power("[executor.claude] program", '"c"', True),)
    said = {"jobs": 2, "link": ("deps",), "powers": powers}
    assert below == Settings(verify=("make test",), executors={"claude": ExecutorSettings(program="c")}, **said)
    found = plan('[run]\nverify = []\n[executor.codex]\nprogram = "x"\n[[unit]]\nid = "a"\nprompt = "x"', below)
    assert found.settings == Settings(
        verify=(),
        executors={"claude": ExecutorSettings(program="c"), "codex": ExecutorSettings(program="x")},
        **said,
    )


def test_what_a_plan_says_itself_needs_no_approval() -> None:
    below = parse_settings(
        tomllib.loads(
            """
            [run]
            verify_sandbox = "none"
            verify_view = "none"
            [workspace]
            setup = ["make"]
            [collect]
            filters = ["lfs"]
            [executor.codex]
            program = "x"
            [executor.claude]
            program = "y"
            [[hotspot]]
            path = "a"
            after = ["b"]
            """
        ),
        "prun.toml",
    )
    assert [power.name for power in below.powers] == [
        "program",
        "program",
        "verify_sandbox",
        "verify_view",
        "setup",
        "filters",
        "after",
    ]
    text = """
        [run]
        verify_sandbox = "none"
        [workspace]
        setup = []
        [executor.codex]
        jobs = 1
        [[hotspot]]
        path = "a"
        after = ["c"]
        [[unit]]
        id = "a"
        prompt = "x"
    """
    found = plan(text, below).settings.powers
    assert [power.key for power in found] == [
        "[executor.claude] program",
        "[run] verify_view",
        "[collect] filters",
        "[[hotspot]] after",
    ]


def test_hotspots_keep_the_name_of_their_file() -> None:
    below = parse_settings({"hotspot": [{"path": "a"}]}, "prun.toml")
    found = plan('[[hotspot]]\npath = "b"\n[[unit]]\nid = "a"\nprompt = "x"', below)
    assert (found.settings.hotspots, found.settings.hotspot_source) == (({"path": "a"}, {"path": "b"}), "plan.toml")


HEAD = '[[unit]]\nid = "a"\nprompt = "x"\n'
KINDS = "one of: codex, claude, command"
INSIDE = "must name paths inside the checkout, not"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "the plan has no units", 'add at least one [[unit]] with id = "..." and a prompt'),
        ("[run]\njobs = 2", "the plan has no units", 'add at least one [[unit]] with id = "..." and a prompt'),
        ("unit = 3", "unit must be written as [[unit]]", ""),
        ("[[units]]\nid = 'a'", "unknown key 'units'", "did you mean 'unit'?"),
        ("[run]\nverfy = []", "[run] unknown key 'verfy'", "did you mean 'verify'?"),
        ("[workspace]\nroots = ''", "[workspace] unknown key 'roots'", "did you mean 'root'?"),
        ("[executor.codx]\nprogram = 'x'", "[executor] unknown key 'codx'", "did you mean 'codex'?"),
        ("[executor.codex]\nprog = 'x'", "[executor.codex] unknown key 'prog'", "did you mean 'program'?"),
        (HEAD + "promt = 'x'", "unit 'a': unknown key 'promt'", "did you mean 'prompt'?"),
        ("[[unit]]\nprompt = 'x'", "[[unit]] 1: id is missing", 'every unit needs an id, such as id = "reports"'),
        ("[[unit]]\nidd = 'x'", "[[unit]] 1: unknown key 'idd'", "did you mean 'id'?"),
        (
            "[[unit]]\nid = '../x'\nprompt = 'x'",
            "unit id '../x' is not usable",
            "use letters, digits, _ and - only (at most 100, not starting with -)",
        ),
        (HEAD * 2, "unit ids must be distinct: two of 'a'", "rename one of them"),
        (
            HEAD + HEAD.replace('"a"', '"A"'),
            "unit ids must be distinct: 'a' and 'A', one folder on some disks",
            "rename one of them",
        ),
        (
            HEAD + "prompt_file = 'p.md'",
            "unit 'a': prompt or prompt_file must be given, and not both",
            'prompt = "...", or prompt_file = "prompts/NAME.md"',
        ),
        (
            "[[unit]]\nid = 'a'",
            "unit 'a': prompt or prompt_file must be given, and not both",
            'prompt = "...", or prompt_file = "prompts/NAME.md"',
        ),
        ("[[unit]]\nid='a'\nprompt=' '", "unit 'a': prompt must be a text that is not empty", ""),
        (
            "[[unit]]\nid='a'\nprompt_file='empty.md'",
            "unit 'a': the prompt is empty",
            "say what the worker has to do",
        ),
        (HEAD + "executor = 'coedx'", "unit 'a': unknown executor 'coedx'", KINDS + " (meant codex?)"),
        (HEAD + "executor = 'zz'", "unit 'a': unknown executor 'zz'", KINDS),
        (
            HEAD + "executor = 'command'",
            "unit 'a': executor command needs a command",
            'command = ["sh", "worker.sh"]',
        ),
        (HEAD + "command = ['', 'x']", "unit 'a': executor command needs a command", 'command = ["sh", "worker.sh"]'),
        (
            HEAD + "executor = 'codex'\ncommand = ['x']",
            "unit 'a': command is only for executor = \"command\"",
            "set the program in [executor.codex] of prun.toml",
        ),
        (HEAD + "mode = 'wirte'", "unit 'a': mode cannot be 'wirte'", "one of: write, read (meant write?)"),
        (
            HEAD + "sandbox = 'none'",
            "unit 'a': sandbox cannot be 'none'",
            "one of: read-only, workspace-write, danger-full-access",
        ),
        (
            HEAD + "timeout = 0",
            "unit 'a': timeout: invalid duration 0",
            'write seconds as a number, or "90s", "40m", "1h30m"',
        ),
        (
            HEAD + "paths = ['../x']",
            "unit 'a': paths must be globs inside the repository, not '../x'",
            'such as "src/reports/**"',
        ),
        (
            HEAD + "paths = ['!x']",
            "unit 'a': paths must be globs inside the repository, not '!x'",
            'such as "src/reports/**"',
        ),
        ("[run]\njobs = 0\n" + HEAD, "[run] jobs must be a whole number of at least 1", ""),
        ("[workspace]\ncopy = ['/etc/passwd']\n" + HEAD, f"[workspace] copy {INSIDE} '/etc/passwd'", ""),
        ("[workspace]\ncopy = ['~/x']\n" + HEAD, f"[workspace] copy {INSIDE} '~/x'", ""),
        ("[workspace]\nlink = ['a/../../x']\n" + HEAD, f"[workspace] link {INSIDE} 'a/../../x'", ""),
        ("[workspace]\nlink = ['./']\n" + HEAD, f"[workspace] link {INSIDE} './'", ""),
        ("[workspace]\nlink = ['a/.GIT/config']\n" + HEAD, f"[workspace] link {INSIDE} 'a/.GIT/config'", ""),
        ("[workspace]\nlink = ['.prun']\n" + HEAD, f"[workspace] link {INSIDE} '.prun'", ""),
        (
            "[workspace]\ncopy = ['x']\nlink = ['./x/']\n" + HEAD,
            "[workspace] link names 'x', which is in copy too",
            "copy it or link it, not both",
        ),
        (
            "[executor.codex]\nenv = ''\n" + HEAD,
            '[executor.codex] env must be a table of texts, such as { NAME = "value" }',
            "",
        ),
        (
            "[executor.codex]\nenv = {A = 1}\n" + HEAD,
            '[executor.codex] env must be a table of texts, such as { NAME = "value" }',
            "",
        ),
        (
            "[executor.codex]\nenv = {GIT_DIR = 'x'}\n" + HEAD,
            "[executor.codex] env cannot set 'GIT_DIR'",
            "GIT_* and PRUN_* belong to git and prun",
        ),
        ("run = 3\n" + HEAD, "[run] must be a table", ""),
    ],
)
def test_plans_that_cannot_be_used(text: str, message: str, hint: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan(text)
    assert (caught.value.message, caught.value.hint) == (f"plan.toml: {message}", hint)


def test_the_base_is_the_plans_alone() -> None:
    with pytest.raises(PlanError) as caught:
        parse_settings({"run": {"base": "main"}}, "prun.toml")
    assert caught.value.message == "prun.toml: [run] unknown key 'base'"


def test_a_missing_prompt_file_is_named() -> None:
    with pytest.raises(PlanError, match=r"^prompt file q\.md does not exist$"):
        plan('[[unit]]\nid = "a"\nprompt_file = "q.md"')


def test_a_unit_made_by_hand() -> None:
    whole = Unit(id=UnitId("a"), prompt="x", executor="command", command=("true",))
    require_whole(whole, "--unit")
    with pytest.raises(PlanError, match=r"^--unit: unit 'a': the prompt is empty$"):
        require_whole(replace(whole, prompt=" "), "--unit")


def test_how_failures_are_met_and_how_many_of_an_executor_run() -> None:
    text = """
    [run]
    retries = 0
    retry_wait = "5m"
    retry_wait_max = "2h"
    [executor.codex]
    jobs = 6
    """
    found = parse_settings(tomllib.loads(text), "prun.toml")
    assert (found.retries, found.retry_wait, found.retry_wait_max) == (0, 300.0, 7200.0)
    assert found.executors == {"codex": ExecutorSettings(jobs=6)}
    above = Settings(retries=1).over(found)
    assert (above.retries, above.retry_wait) == (1, 300.0)
    assert Settings().over(found).retries == 0
    assert parse_plan_settings(tomllib.loads(text + "\n[[unit]]\nodd = 1"), "plan.toml", Settings()) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[run]\nretries = -1", "prun.toml: [run] retries must be a whole number of at least 0"),
        ("[run]\nretries = true", "prun.toml: [run] retries must be a whole number of at least 0"),
        ("[run]\nretry_wait = 'soon'", "prun.toml: [run] retry_wait: invalid duration 'soon'"),
        ("[run]\nretry = 1", "prun.toml: [run] unknown key 'retry'"),
        ("[executor.codex]\njobs = 0", "prun.toml: [executor.codex] jobs must be a whole number of at least 1"),
        ("[executor.codex]\njob = 1", "prun.toml: [executor.codex] unknown key 'job'"),
    ],
)
def test_what_is_wrong_with_them(text: str, message: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse_settings(tomllib.loads(text), "prun.toml")
    assert caught.value.message == message


def test_what_several_runs_say_together() -> None:
    assert together([]) == Settings()
    one = Settings(verify=("a", "b"), copy=(".env",), setup=("s",), verify_sandbox="none", verify_view="none")
    two = Settings(verify=("b", "c"), link=("n",), copy=(), verify_timeout=5.0, verify_sandbox="workspace-write")
    assert together([one]) == one
    assert together([one, two]) == Settings(
        verify=("a", "b", "c"),
        copy=(".env",),
        link=("n",),
        setup=("s",),
        verify_timeout=5.0,
        verify_sandbox="workspace-write",
    )
    assert together([Settings(verify=()), Settings(verify_sandbox="none")]) == Settings()


@pytest.mark.parametrize(("text", "share"), [("20%", 0.2), ("0%", 0.0), ("100%", 1.0), ("none", 1.0)])
def test_how_much_a_branch_may_delete(text: str, share: float) -> None:
    settings = parse_settings({"merge": {"max_deleted": text}}, "prun.toml")
    assert settings.max_deleted == share
    assert Settings().over(settings).max_deleted == share
    assert Settings(max_deleted=0.5).over(settings).max_deleted == 0.5


@pytest.mark.parametrize("text", ["20", "-1%", "101%", "many", "\u0661%"])
def test_what_is_no_share(text: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse_settings({"merge": {"max_deleted": text}}, "prun.toml")
    assert "max_deleted" in caught.value.message
    assert caught.value.hint == 'such as "20%", or "none"'
