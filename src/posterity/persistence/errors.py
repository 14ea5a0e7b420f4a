"""The error of model files."""


class FileError(ValueError):
    """Error for a model that cannot be saved, or a file that cannot be loaded.

    Examples
    --------
    >>> from posterity import persistence
    >>> persistence.save(lambda x: x, "model.posterity")
    Traceback (most recent call last):
        ...
    posterity.persistence.errors.FileError: The model is a function, <lambda>, which a model file
    cannot contain. If it is your class or function, pass it in classes= to save and load; otherwise
    use skops.
    """
