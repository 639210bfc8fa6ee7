"""One file merged from three on the disk, as ``git merge-file`` does, with git's own words and exit codes."""

from gitprun.landing.file import CANNOT, FileMerge, merge_file, replace_file

__all__ = ["CANNOT", "FileMerge", "merge_file", "replace_file"]
