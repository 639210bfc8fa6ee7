"""Be the program: ``git prun`` and ``python -m gitprun``."""

import sys


def main() -> None:
    """Start what was asked for; merge-file, which git starts once a file, without loading the whole command line."""
    # Before anything else is imported: locks, signals and process groups are those of POSIX, down to the bottom.
    if sys.platform == "win32":
        sys.stderr.write(
            "error: git prun does not run on Windows; it needs Linux or macOS\n"
            "hint: it works in WSL (Windows Subsystem for Linux): 'wsl --install', then install git prun in there\n"
        )
        sys.exit(128)
    if sys.argv[1:2] == ["merge-file"] and not {"-h", "--help"} & {*sys.argv}:
        from gitprun.cli.merge_file_args import main as merge_file

        sys.exit(merge_file(sys.argv[2:]))
    from gitprun.cli.main import main as whole

    whole()


if __name__ == "__main__":
    main()
