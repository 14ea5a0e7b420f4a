"""Sort class labels."""

import polars as pl


def sort_labels(labels: pl.Series) -> tuple[str, ...]:
    """Sort distinct labels, numbers by value and text alphabetically."""
    distinct = labels.drop_nulls().unique().sort()
    sizes = distinct.cast(pl.Float64, strict=False)
    by_size = not sizes.is_null().any() and not sizes.is_nan().any()
    ordered = distinct.gather(sizes.arg_sort()) if by_size else distinct
    return tuple(ordered.to_list())
