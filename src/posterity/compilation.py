"""Functions that numba compiles when they are first called.

numba is imported by the first call, so that a model without compiled code does not wait for it.
Machine code is kept beside the source or in the user's cache; where numba can write to neither, it
is compiled again in every process.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, overload

_Function = TypeVar("_Function", bound=Callable[..., Any])
_OPTIONS = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,  # no function of C is called back, and an entry takes time to compile
}


@overload
def compile_at_first_call(function: _Function, /) -> _Function: ...
@overload
def compile_at_first_call(**options: Any) -> Callable[[_Function], _Function]: ...
def compile_at_first_call(function: Any = None, /, **options: Any) -> Any:
    """Compile a function with numba at its first call.

    The compiled function releases the global interpreter lock, and divides by zero as NumPy does.
    Compiled functions may call each other.

    Parameters
    ----------
    function : callable
        Written in the part of Python and NumPy that numba compiles.
    **options
        Further options of ``numba.njit``, such as ``fastmath``; ``cache=False`` for a function
        around another one that has no name in a module.
    """
    if function is None:
        return functools.partial(_Compiled, options=options)
    return _Compiled(function, options=options)


def compile_for_callers(function: _Function, /) -> _Function:
    """Compile a function that only compiled functions call.

    It has no entry from Python, which takes a good part of the time to compile; called from Python
    it runs as it is written.

    Parameters
    ----------
    function : callable
        Written in the part of Python and NumPy that numba compiles.

    Examples
    --------
    >>> square = compile_for_callers(lambda x: x * x)
    >>> square(3.0)
    9.0
    """
    return _Compiled(function, options={"no_cpython_wrapper": True})  # type: ignore[return-value]


def is_compiled(function: Any) -> bool:
    """Whether a function is one of :func:`compile_at_first_call`.

    Examples
    --------
    >>> is_compiled(compile_at_first_call(abs)), is_compiled(abs)
    (True, False)
    """
    return isinstance(function, _Compiled)


class _Compiled:
    """A function, and numba's version of it from the first call on."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function  # as numba names it
        self._options = {**_OPTIONS, **options}

    def __call__(self, *arguments: Any) -> Any:
        if "no_cpython_wrapper" in self._options:
            return self.py_func(*arguments)
        return self._dispatcher(*arguments)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__  # copied and pickled by name, like a function

    @property
    def _numba_type_(self) -> Any:
        """The type that numba reads where another compiled function calls this one."""
        return self._dispatcher._numba_type_

    @property
    def targetoptions(self) -> Any:
        """The options that numba reads where another compiled function may inline this one."""
        return self._dispatcher.targetoptions

    @functools.cached_property
    def _dispatcher(self) -> Any:
        import numba

        try:
            return _forget_stale_code(numba.njit(**self._options)(self.py_func))
        except RuntimeError:  # numba found no directory that it may write to
            _warn_about_cache()
            return numba.njit(**{**self._options, "cache": False})(self.py_func)


def _forget_stale_code(dispatcher: Any) -> Any:
    """Empty the cache of a function whose argument types no longer exist under their old names.

    numba reads the types of the calls it has compiled before it compares the date of the source,
    so that code of an older version would make every call fail.
    """
    index = getattr(dispatcher._cache, "_cache_file", None)
    try:
        getattr(index, "_load_index", dict)()
    except Exception:  # whatever unpickling raises
        dispatcher._cache.flush()
    return dispatcher


@functools.cache
def _warn_about_cache() -> None:
    """Warn once in a process."""
    warnings.warn(
        "numba has no directory to keep compiled code in, so models compile again in every "
        "process, which takes seconds; set NUMBA_CACHE_DIR to a directory that you may write to.",
        stacklevel=2,
    )
