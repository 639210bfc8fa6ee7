"""Let ``python -m gitprun`` do what ``git prun`` does."""

from gitprun.cli.main import main

if __name__ == "__main__":
    main()
