"""Which commands a worker must not run, and which must not be mistaken for them."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitprun.guards.commands import INVOLVED, Refusal, find_refused
from gitprun.guards.gitwords import COMMITS, LOSES, PUSHES, REFS, SETTINGS, SHARED, STASH, UNTOLD
from gitprun.guards.gitwords import LANDS as NOT_THEIRS

ALIASES = {"ci": "commit -v", "oops": "!git push --force", "st": "status -sb", "loop": "loop"}

# However a command is started, it is found.
WAYS = """\
git push
cd x && git push
true; git push
true | git push
git push &
git -C x push
git -c k=v push
git --git-dir=/x --work-tree /y --no-pager push
A=1 B=2 git push origin HEAD:main
env git push
env -u C A=b git push
env -S 'git push'
/usr/bin/git push
git-push
"git" 'push'
g'i't pu"sh"
$'\\x67it' push
sh -c 'git push'
bash -lc "cd x && git push"
bash -o pipefail -c 'git push'
sh -c "sh -c 'git push'"
echo $(git push)
echo "a $(git push) b"
echo `git push`
diff <(git push) x
a=$(git rev-parse HEAD && git push)
${x:-$(git push)}
(cd x; git push)
{ git push; }
if true; then git push; fi
for x in a b; do git push $x; done
while git push; do :; done
case $x in a) git push;; esac
f() { git push; }; f
function f { git push; }; f
! git push
time -p git push
exec git push
command git push
nohup git push
sudo -u bob git push
timeout -k 3 --signal=9 5 git push
nice -n 5 git push
stdbuf -oL git push
setsid -w git push
flock lock git push
flock lock -c 'git push'
watch -n 5 git push
xargs -n1 git push
ls | xargs -I{} sh -c 'git push {}'
echo push | xargs git
find . -name x -exec git add {} \\; -execdir git push {} +
eval "git push"
eval git push
trap 'git push' EXIT
su bob -c 'git push'
echo 'git push' | sh
printf 'git push\\n' | bash -s
sh <<< 'git push'
2>&1 git push >log
git push 2>&1 | tee log
git push --force-with-lease # as told
git oops
git -c alias.x=push x
git -c alias.x='!git push' x
git submodule foreach 'git push'
git submodule --quiet foreach --recursive git push""".splitlines()

HERE = ["bash <<EOF\ngit push\nEOF", "cat <<EOF | sh\ngit push\nEOF", "cat >f <<EOF\n$(git push)\nEOF", "git \\\n push",
        "a |\n git push", "# nothing\ngit push", "sh /dev/stdin <<EOF\ngit push\nEOF", "bash <(echo git push)",
        "source <(echo git push)", "set a; for i do git push; done", "{git,push}", "x=$((1<<2))\ngit push",
        "cat <<EOF\na\\\nEOF\nb\nEOF\ngit push", "\"${x%'a'}\"; git -C y push"]  # fmt: skip

# Words that only look like it.
HARMLESS = """\
echo "git push"
echo git push
grep 'git push' file
grep -rn "git commit" . | head
printf '%s\\n' git push
# git push
ls # git push
echo 'x && git push; y'
echo "x \\$(git push)"
man git commit
which git
command -v git
make commit push
./git_push
python -c "print('git push')"
x='git push'
x=(git push)
case git in push) true;; esac
for git in push commit; do :; done
[[ git == push ]]
ssh host 'git push'
git log --grep='git push' -- commit
git commit --help
git help push
git grep -n push
git st
git nosuch
git loop
cat git push
rm -rf build; git status""".splitlines()
HARMLESS_HERE = ["cat <<EOF >f\ngit push\nEOF", "cat <<'EOF' >f\n$(git push)\nEOF", "python - <<EOF\ngit push\nEOF"]

REFUSED = {
    COMMITS: "commit -m x|commit --amend|merge b|rebase -i HEAD~2|cherry-pick b|revert b|am x|pull|commit-tree t",
    PUSHES: "push|push --tags|send-pack x|lfs push|svn dcommit|p4 submit|send-email x",
    REFS: (
        "branch x|branch -D x|branch -d x|branch -m a b|branch -f x HEAD|branch --delete x|branch --del x|tag v1|"
        "tag -a v1 -m x|tag -d v1|update-ref refs/heads/x HEAD|symbolic-ref HEAD refs/heads/x|symbolic-ref -d X|"
        "checkout -b x|checkout -B x|checkout -qb x|checkout --orphan x|switch -c x|switch --create x|reset HEAD~1|"
        "reset --soft HEAD|reset main|reset origin/main|fetch . a:b|fetch origin +a:b|replace a b|notes add|"
        "filter-branch"
    ),
    LOSES: (
        "reset --hard|reset --hard HEAD~1|reset -q --hard|reset --har|reset --merge|reset --keep x|clean -fd|"
        "clean -ffdx|checkout -f|checkout --force main|checkout .|checkout -- .|checkout HEAD -- :/|restore .|"
        "restore --staged --worktree .|switch -f x|switch --discard-changes x|read-tree -u --reset HEAD|"
        "checkout-index -a -f|submodule deinit -f x"
    ),
    SHARED: "worktree add ../x|worktree remove x|worktree prune|gc|prune|repack -ad|reflog expire --all|pack-refs",
    SETTINGS: (
        "config --global user.name x|config user.name x|config set user.name x|config --unset user.name|"
        "config -f x a.b c|config -e|remote add o x|remote remove o|remote set-url o x|branch -u o/x"
    ),
    NOT_THEIRS: "prun merge|prun remove u|prun clean",
    UNTOLD: '$x|{commit,-m,x}|"$(cat f)"',
    STASH: "stash|stash pop|stash push -m x|stash drop|stash -u",
}
ALLOWED = (
    "|status|diff|log -5|show HEAD|add -A|add .|rm a|mv a b|blame -L1,3 a|apply x|ls-files|rev-parse HEAD|init|clone x|"
    "branch|branch -a|branch -vv|branch --list 'x*'|branch --show-current|branch --contains abc|branch --merged|"
    "branch --sort -committerdate|branch --sort=-committerdate|tag|tag -l 'v*'|tag -n|tag --contains x|stash list|"
    "stash show -p|worktree list|config --get a.b|config a.b|config --list|config -l --show-origin|config get a.b|"
    "config --global --get a.b|config -f x a.b|config --type bool a.b|remote|remote -v|remote get-url o|"
    "checkout -- a|checkout HEAD -- a b|checkout main|checkout --detach|restore a|restore --source=HEAD a|"
    "restore --staged .|reset|reset -q|reset HEAD|reset HEAD a|reset -- a|reset a.py|reset src/|reset -p|clean -n|"
    "clean -nfd|clean --dry-run|fetch|fetch origin main|fetch https://x.test/y.git|symbolic-ref HEAD|notes show|"
    "merge-base a b|merge-tree a b|reflog|reflog show|submodule status|submodule foreach 'git status'|prun status|"
    "bisect log|sparse-checkout list|--version|--exec-path|-C x status|stash create|replace -l|lfs ls-files"
)


def refused(text: str) -> Refusal | None:
    return find_refused(text, ALIASES.get)


@pytest.mark.parametrize("text", WAYS + HERE)
def test_however_it_is_started(text: str) -> None:
    found = refused(text)
    assert found is not None
    assert found.why in (PUSHES, UNTOLD, INVOLVED)


@pytest.mark.parametrize("text", HARMLESS + HARMLESS_HERE)
def test_words_are_no_commands(text: str) -> None:
    assert refused(text) is None


@pytest.mark.parametrize(("words", "why"), [(words, why) for why, rows in REFUSED.items() for words in rows.split("|")])
def test_what_is_refused(words: str, why: str) -> None:
    found = refused(f"git {words}")
    assert found is not None
    assert found.why == why
    assert refused(f"cd x && git -C y -c a=b {words} && true") == found


@pytest.mark.parametrize("words", ALLOWED.split("|"))
def test_what_is_allowed(words: str) -> None:
    assert refused(f"git {words}") is None


def test_the_refusal_names_the_command() -> None:
    assert refused("cd x; git -C y commit -m z") == Refusal("git commit", COMMITS)
    assert refused("git ci -m x") == Refusal("git commit", COMMITS)
    assert refused("git $x") == Refusal("git ...", UNTOLD)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("\"${x%'a'}\"; git -C y commit", "git commit"),
        ("\"${x%'a'}\"; /usr/bin/git-push", "git push"),
        # Whether it runs cannot be told, so it is refused where it only stands.
        ("\"${x%'a'}\"; echo 'git push'", "git push"),
        ("\"${x%'a'}\"; git $y", "git ..."),
        ("\"${x%'a'}\"; git status; my-git push; git log --grep push", None),
    ],
)
def test_what_takes_a_shell_is_judged_by_its_look(text: str, found: str | None) -> None:
    assert refused(text) == (Refusal(found, INVOLVED) if found else None)


def test_an_alias_of_a_builtin_is_never_asked_for() -> None:
    assert find_refused("git status", {"status": "push"}.get) is None


def test_what_cannot_be_read_is_searched_roughly() -> None:
    deep = "$(" * 1000
    assert find_refused(f"{deep}git push") == Refusal("git push", INVOLVED)
    assert find_refused(f"{deep}git status") is None
    # An alias for itself has no end, and is none that does anything.
    assert find_refused("git -c alias.x='!git x' x") is None


INERT = st.sampled_from(
    [
        "true",
        "echo 'git push'",
        'echo "git push"',
        "echo git push",
        "x='git push'",
        "git status",
        "grep -q 'git push' f",
    ]
)


def wrapped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Put a command into places where the shell runs it."""
    forms = st.sampled_from(
        [
            "(%s)",
            "{ %s; }",
            "if true; then %s; fi",
            "for i in 1; do %s; done",
            "case a in a) %s;; esac",
            'echo "x $(%s) y"',
            "echo $(%s)",
            "x=$(%s)",
            "f() { %s; }; f",
            "true && %s",
            "%s || true",
            "! %s",
            "%s >/dev/null 2>&1",
            "true | %s",
            "cat <(%s)",
        ]
    )
    quoted = inner.map(lambda text: f"sh -c {shlex.quote(text)}")
    evaluated = inner.map(lambda text: f"eval {shlex.quote(text)}")
    beside = st.tuples(INERT, inner).map("; ".join) | st.tuples(inner, INERT).map("\n".join)
    return st.tuples(forms, inner).map(lambda pair: pair[0] % pair[1]) | quoted | evaluated | beside


RUNS = st.recursive(
    st.sampled_from(["git push", "git -C . push x", "env A=b git commit -m 'x y'"]), wrapped, max_leaves=6
)
RUNS_NOTHING = st.recursive(INERT, wrapped, max_leaves=6)


@settings(deadline=None)
@given(RUNS)
def test_wherever_a_forbidden_command_stands_it_is_found(text: str) -> None:
    assert refused(text) is not None


@settings(deadline=None)
@given(RUNS_NOTHING)
def test_wherever_words_stand_they_are_no_command(text: str) -> None:
    assert refused(text) is None


@settings(deadline=None)
@given(st.text(st.sampled_from("git push;&|()<>{}$`'\"\\\n#=-c sh envxargs"), max_size=80) | st.text())
def test_no_text_ends_it(text: str) -> None:
    refused(text)
