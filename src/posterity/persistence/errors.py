"""What goes wrong with a model file, in a sentence."""


class FileError(ValueError):
    """A model that no file can hold, or a file that holds none; the message says why.

    Examples
    --------
    >>> from posterity import persistence
    >>> persistence.save(lambda x: x, "model.posterity")
    Traceback (most recent call last):
        ...
    posterity.persistence.errors.FileError: The model is a function, <lambda>, which a model file
    does not hold. If it is yours, pass it in classes= here and to load; else use skops.
    """
