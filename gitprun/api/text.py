"""Three texts merged as a landing would merge them: without a repository, without starting any program."""

from __future__ import annotations

from gitprun.judging.text import Merged, merge_text
from gitprun.resolvers.base import Refused

__all__ = ["Merged", "Refused", "merge_text"]
