"""A request to stop, as whoever calls makes one: set it, and everything that was started with it ends in good order."""

from gitprun.system.stop import Stop, stops_everything

__all__ = ["Stop", "stops_everything"]
