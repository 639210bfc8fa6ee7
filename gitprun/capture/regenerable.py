"""Which ignored files nobody misses, since a tool makes them again; all others are somebody's work. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from gitprun.capture.screen import PRODUCTS, STORES
from gitprun.model.globs import matches

# Names of files and folders at any depth. Left out on purpose: logs and what IDEs keep, which may be the only copy of
# something, .wrangler and the like, where a development database lives, and out, where people put results.
_NAMES = (PRODUCTS - {"out"}) | {
    *(".DS_Store", ".angular", ".astro", ".benchmarks", ".bloop", ".bsp", ".build", ".bundle", ".cache"),
    *(".ccls-cache", ".coverage", ".dart_tool", ".direnv", ".docusaurus", ".eggs", ".eslintcache", ".expo"),
    *(".ipynb_checkpoints", ".jekyll-cache", ".kotlin", ".metals", ".npm", ".nuxt", ".nx", ".nyc_output", ".output"),
    *(".pdm-build", ".pnp.cjs", ".pnp.loader.mjs", ".pnpm-store", ".pyre", ".pytype", ".ropeproject", ".sass-cache"),
    *(".stack-work", ".stylelintcache", ".svelte-kit", ".swc", ".terraform", ".vite", ".zig-cache", "CMakeCache.txt"),
    *("CMakeFiles", "DerivedData", "Pods", "Thumbs.db", "__pypackages__", "_build", "_site", "bower_components"),
    *("coverage.xml", "desktop.ini", "dist-newstyle", "elm-stuff", "htmlcov", "lcov.info", "obj"),
    *("pip-wheel-metadata", "playwright-report", "storybook-static", "test-results", "vendor", "venv", "zig-out"),
}
_PATTERNS = (
    *("*.class", "*.dll", "*.dylib", "*.egg-info", "*.exe", "*.gcda", "*.gcno", "*.lib", "*.o", "*.obj", "*.pdb"),
    *("*.pyc",),
    *("*.pyd", "*.pyo", "*.rlib", "*.rmeta", "*.so", "*.so.*", "*.tsbuildinfo", "*.swo", "*.swp", "*~", ".#*"),
    *(".coverage.*", "bazel-*", "cmake-build-*", "npm-debug.log*", "yarn-debug.log*", "yarn-error.log*"),
)
# A folder with one of these is a cache, or a virtual environment whatever its name: tools put them there to say so.
MARKS = ("CACHEDIR.TAG", "pyvenv.cfg")


def is_regenerable(path: str, more: Sequence[str] = ()) -> bool:
    """Check whether a tool makes an ignored file or folder again; ``more`` are globs of the project's own."""
    path = path.rstrip("/")
    parts = path.split("/")
    if any(part in _NAMES for part in parts) or any(f"{path}/".startswith(f"{store}/") for store in STORES):
        return True
    if any(fnmatchcase(part, pattern) for part in parts for pattern in _PATTERNS):
        return True
    return any(matches(pattern, path) for pattern in more)
