"""``posterity vision demo``: all systems on generated data, and one page of their pictures.

A system has a module here with a function that takes a folder, in which it may leave files to try,
and returns a :class:`Demonstration`; its line in ``run.py`` puts it on the page.
"""

from posterity.vision.commands.demo.demonstration import Demonstration
from posterity.vision.commands.demo.run import run

__all__ = ["Demonstration", "run"]
