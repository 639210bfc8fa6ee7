"""Ways for a worker to have the coordinator run a program of its, or read and write where the worker points.

Each is a shell script for a worker in a clone of its own. ``$FIRED`` is the folder where the planted program
(``$EVIL``) leaves a file of the unit's name when anybody runs it; ``$OUTSIDE`` is a folder that is no business of
anybody's; ``$PRUN_REPO`` the user's checkout.
"""

from __future__ import annotations

# What every worker does first: real work, and the program.
PRELUDE = """
EVIL="$PWD/.git/evil"
printf '#!/bin/sh\\n: >"%s/%s"\\nexec cat 2>/dev/null\\n' "$FIRED" "$PRUN_UNIT" >"$EVIL"
chmod +x "$EVIL"
echo "$PRUN_UNIT" >"new-$PRUN_UNIT.txt"
echo more >>shared.bin
set_in() { git config --file "$1" "$2" "$3"; }
say() { set_in .git/config "$1" "$2"; }
"""
# And last: what it set off itself does not count.
CODA = '\nrm -f "$FIRED/$PRUN_UNIT"\n'

EVERY_HOOK = (
    "applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg"
    " post-commit pre-rebase post-checkout post-merge pre-push pre-receive update post-receive post-update"
    " reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman"
    " post-index-change"
)

PROGRAMS = {
    "fsmonitor": 'say core.fsmonitor "$EVIL"',
    "include": 'set_in .git/more core.fsmonitor "$EVIL"; say include.path "$PWD/.git/more"',
    "includeif": 'set_in .git/more core.fsmonitor "$EVIL"; say "includeIf.gitdir:/**.path" "$PWD/.git/more"',
    "worktree-config": 'say extensions.worktreeConfig true; set_in .git/config.worktree core.fsmonitor "$EVIL"',
    "git-file": """
        cp -R .git "$PWD/../$PRUN_UNIT-elsewhere"
        EVIL="$PWD/../$PRUN_UNIT-elsewhere/evil"
        git config --file "$PWD/../$PRUN_UNIT-elsewhere/config" core.fsmonitor "$EVIL"
        mv .git .git-aside; rm -rf .git-aside
        echo "gitdir: $PWD/../$PRUN_UNIT-elsewhere" >.git
    """,
    "hooks-path": f"""
        mkdir -p .git/planted
        for hook in {EVERY_HOOK}; do cp "$EVIL" ".git/planted/$hook"; done
        say core.hooksPath "$PWD/.git/planted"
    """,
    "hooks": f'mkdir -p .git/hooks; for hook in {EVERY_HOOK}; do cp "$EVIL" ".git/hooks/$hook"; done',
    "diff-external": 'say diff.external "$EVIL"',
    "diff-command": 'say diff.x.command "$EVIL"; echo "* diff=x" >.gitattributes; cp .gitattributes .git/info/attributes',
    "diff-textconv": 'say diff.x.textconv "$EVIL"; echo "* diff=x" >.gitattributes; cp .gitattributes .git/info/attributes',
    "filter-clean-info": 'say filter.x.clean "$EVIL"; echo "* filter=x" >.git/info/attributes',
    "filter-clean-tree": 'say filter.x.clean "$EVIL"; echo "*.txt filter=x" >.gitattributes',
    "filter-smudge": 'say filter.x.smudge "$EVIL"; echo "*.txt filter=x" >.gitattributes',
    "filter-process": 'say filter.x.process "$EVIL"; say filter.x.required true; echo "*.txt filter=x" >.gitattributes',
    "merge-driver": 'say merge.x.driver "$EVIL %A"; echo "* merge=x" >.gitattributes; cp .gitattributes .git/info/attributes',
    "merge-default": 'say merge.x.driver "$EVIL %A"; say merge.default x',
    "gpg-commit": 'say commit.gpgSign true; say tag.gpgSign true; say gpg.program "$EVIL"; say user.signingKey 1234',
    "gpg-log": """
        say log.showSignature true; say gpg.program "$EVIL"
        git add -A
        tree=$(git write-tree)
        signed="tree $tree\nparent $(git rev-parse HEAD)\nauthor A <a@b> 1767600000 +0000\ncommitter A <a@b> 1767600000 +0000"
        signed="$signed\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nsigned\n"
        git update-ref HEAD "$(printf "$signed" | git hash-object -t commit -w --stdin)"
    """,
    "gpg-ssh": 'say gpg.format ssh; say gpg.ssh.program "$EVIL"; say commit.gpgSign true; say user.signingKey "$EVIL"',
    "lazy-fetch": """
        say core.repositoryFormatVersion 1; say extensions.partialClone origin
        say remote.origin.url "$PWD/.git"; say remote.origin.promisor true; say remote.origin.uploadpack "$EVIL"
        git add -A; git -c user.name=a -c user.email=a@b commit -qm own
        rm -f .git/objects/$(git rev-parse HEAD:new-$PRUN_UNIT.txt | sed 's,^..,&/,')
    """,
    "alternate-refs": 'say core.alternateRefsCommand "$EVIL"',
    "url-ext": """
        say protocol.ext.allow always; say "url.ext::$EVIL .insteadOf" /
        say remote.origin.url /somewhere; say branch.main.remote origin
    """,
    "ssh-command": 'say core.sshCommand "$EVIL"; say remote.origin.url ssh://nowhere.invalid/x; say remote.pushDefault origin',
    "pager": 'say core.pager "$EVIL"; say pager.log "$EVIL"; say pager.diff "$EVIL"; say pager.show "$EVIL"',
    "trailer": 'say trailer.x.command "$EVIL"; say trailer.x.cmd "$EVIL"; say trailer.x.key X; say trailer.x.ifmissing add',
    "nested-fsmonitor": """
        git init -q nested; (cd nested && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && echo 1 >f)
        set_in nested/.git/config core.fsmonitor "$EVIL"
        git update-index --add --cacheinfo 160000,$(git -C nested rev-parse HEAD),nested
    """,
    "nested-filter": """
        git init -q nested; (cd nested && echo 1 >f && git add f && git -c user.name=a -c user.email=a@b commit -qm x)
        set_in nested/.git/config filter.x.clean "$EVIL"; echo "* filter=x" >nested/.git/info/attributes
        echo 2 >nested/f; touch -d 2001-01-01 nested/f
        git update-index --add --cacheinfo 160000,$(git -C nested rev-parse HEAD),nested
    """,
    "alias": 'for name in status diff log show add commit merge fetch; do say "alias.$name" "!$EVIL"; done',
    "pack-objects-hook": 'say uploadpack.packObjectsHook "$EVIL"',
    "credential": 'say credential.helper "$EVIL"; say core.askPass "$EVIL"; say remote.origin.url https://nowhere.invalid/x',
    "editor": 'say core.editor "$EVIL"; say sequence.editor "$EVIL"; say interactive.diffFilter "$EVIL"',
    "submodule-update": """
        printf '[submodule "s"]\\n\\tpath = s\\n\\turl = ./s\\n\\tupdate = !%s\\n' "$EVIL" >.gitmodules
        say submodule.s.update "!$EVIL"; say submodule.s.url ./s; say submodule.s.active true
        git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),s
    """,
    "tools": 'for kind in diff merge; do say "$kind.tool" x; say "${kind}tool.x.cmd" "$EVIL"; done; say guitool.x.cmd "$EVIL"',
    "shadow-modules": """
        for name in json marshal gitprun warden pygit2 click sitecustomize usercustomize subprocess encodings; do
            printf 'open("%s/%s", "w").close()\\n' "$FIRED" "$PRUN_UNIT" >"$name.py"
        done
        cp "$EVIL" git; cp "$EVIL" sh; cp "$EVIL" python3
    """,
    "own-commit-bad-tree": """
        blob=$(echo evil | git hash-object -w --stdin)
        hooks=$(printf '100755 blob %s\\tpost-checkout\\n' "$blob" | git mktree)
        dot=$(printf '040000 tree %s\\thooks\\n' "$hooks" | git mktree)
        raw=$(printf '%s' "$dot" | sed 's/../\\\\x&/g')
        tree=$(printf "40000 .git\\0$raw" | git hash-object -t tree -w --stdin --literally)
        git update-ref refs/heads/own "$(git -c user.name=a -c user.email=a@b commit-tree "$tree" -p HEAD -m bad </dev/null)"
    """,
    "config-cached-fetch": 'say remote.origin.url "ext::$EVIL"; say remote.origin.vcs x; say fetch.bundleURI "ext::$EVIL"',
}

# The same in a linked worktree, whose settings are the user's: no boundary, but nothing may run before it was seen.
LINKED_PRELUDE = """
COMMON="$PRUN_REPO/.git"
EVIL="$COMMON/evil-$PRUN_UNIT"
printf '#!/bin/sh\\n: >"%s/%s"\\nexec cat 2>/dev/null\\n' "$FIRED" "$PRUN_UNIT" >"$EVIL"
chmod +x "$EVIL"
echo "$PRUN_UNIT" >"new-$PRUN_UNIT.txt"
say() { git config --file "$COMMON/config" "$1" "$2"; }
"""
LINKED = {
    "fsmonitor": 'say core.fsmonitor "$EVIL"',
    "hooks-path": f"""
        mkdir -p "$COMMON/planted"
        for hook in {EVERY_HOOK}; do cp "$EVIL" "$COMMON/planted/$hook"; done
        say core.hooksPath "$COMMON/planted"
    """,
    "hooks": f'mkdir -p "$COMMON/hooks"; for hook in {EVERY_HOOK}; do cp "$EVIL" "$COMMON/hooks/$hook"; done',
    "diff-external": 'say diff.external "$EVIL"',
    "diff-textconv": 'say diff.x.textconv "$EVIL"; echo "* diff=x" >"$COMMON/info/attributes"',
    "filter-clean": 'say filter.x.clean "$EVIL"; echo "* filter=x" >"$COMMON/info/attributes"',
    "filter-process": 'say filter.x.process "$EVIL"; echo "* filter=x" >"$COMMON/info/attributes"',
    "merge-driver": 'say merge.x.driver "$EVIL %A"; echo "* merge=x" >"$COMMON/info/attributes"',
    "gpg": 'say commit.gpgSign true; say gpg.program "$EVIL"; say log.showSignature true; say user.signingKey 1234',
    "pager": 'say core.pager "$EVIL"; say pager.log "$EVIL"; say core.editor "$EVIL"',
    "alternate-refs": 'say core.alternateRefsCommand "$EVIL"',
    "include": 'git config --file "$COMMON/more" core.fsmonitor "$EVIL"; say include.path "$COMMON/more"',
    "alias": 'for name in status diff log show add commit merge fetch; do say "alias.$name" "!$EVIL"; done',
}

REDIRECTS = {
    "git-link": 'mv .git .git-own; rm -rf .git-own; ln -s "$PRUN_REPO/.git" .git',
    "git-file": 'mv .git .git-own; rm -rf .git-own; echo "gitdir: $PRUN_REPO/.git" >.git',
    "commondir": 'echo "$PRUN_REPO/.git" >.git/commondir',
    "refs-link": 'rm -rf .git/refs; ln -s "$PRUN_REPO/.git/refs" .git/refs',
    "index-link": 'rm -f .git/index; ln -s "$PRUN_REPO/.git/index" .git/index',
    "head-link": 'rm -f .git/HEAD; ln -s "$OUTSIDE/file" .git/HEAD',
    "log-link": 'mkdir -p .git/logs; rm -f .git/logs/HEAD; ln -s "$OUTSIDE/file" .git/logs/HEAD; say core.logAllRefUpdates always',
    "message-links": 'for name in COMMIT_EDITMSG FETCH_HEAD ORIG_HEAD MERGE_MSG MERGE_HEAD; do rm -f ".git/$name"; ln -s "$OUTSIDE/file" ".git/$name"; done',
    "worktree": 'say core.worktree "$OUTSIDE"',
    "alternates": 'echo "$OUTSIDE/private/.git/objects" >.git/objects/info/alternates; git update-ref refs/heads/stolen $(cat "$OUTSIDE/private-commit")',
    "more-alternates": 'echo "$OUTSIDE/private/.git/objects" >>.git/objects/info/alternates; git update-ref refs/heads/stolen $(cat "$OUTSIDE/private-commit")',
    "objects-link": 'mv .git/objects .git/objects-own; ln -s "$OUTSIDE/private/.git/objects" .git/objects; git update-ref refs/heads/stolen $(cat "$OUTSIDE/private-commit")',
    "pack-link": 'mkdir -p .git/objects; rm -rf .git/objects/pack; ln -s "$OUTSIDE/private/.git/objects/pack" .git/objects/pack; echo $(cat "$OUTSIDE/private-commit") >.git/refs/heads/stolen',
    "folder-link": 'rm -rf folder; ln -s "$OUTSIDE" folder',
    "file-link": 'rm -f a.txt; ln -s "$OUTSIDE/file" a.txt',
    "up-link": 'ln -s ../../.. up; ln -s "$PRUN_REPO" user',
    "outbox-link": 'rm -rf .prun; ln -s "$OUTSIDE" .prun',
    "result-link": 'rm -f .prun/result.md; ln -s "$OUTSIDE/file" .prun/result.md',
    "exclude-link": 'rm -f .git/info/exclude; ln -s "$OUTSIDE/file" .git/info/exclude; ln -s "$OUTSIDE/file" .gitignore; ln -s "$OUTSIDE/file" .gitattributes',
    "ref-names": 'mkdir -p ".git/refs/heads/..x"; git rev-parse HEAD~0 >".git/refs/heads/..x/y"; git rev-parse HEAD >".git/refs/main"; printf "%s refs/heads/../../../../escaped\\n" $(git rev-parse HEAD) >>.git/packed-refs',
    "stash-link": 'mkdir -p .git/logs/refs; ln -s "$OUTSIDE/file" .git/logs/refs/stash; echo "ref: refs/heads/main" >.git/refs/stash',
}
