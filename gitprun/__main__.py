"""Be the program: ``git prun`` and ``python -m gitprun``."""

import sys


def main() -> None:
    """Start what was asked for; merge-file, which git starts once a file, without loading the whole command line."""
    if sys.argv[1:2] == ["merge-file"] and not {"-h", "--help"} & {*sys.argv}:
        from gitprun.cli.merge_file_args import main as merge_file

        sys.exit(merge_file(sys.argv[2:]))
    from gitprun.cli.main import main as whole

    whole()


if __name__ == "__main__":
    main()
