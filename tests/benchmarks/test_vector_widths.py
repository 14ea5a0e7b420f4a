"""The comparison of prices: every kind of set is drawn, and a price takes the right choice."""

import numpy as np
from benchmarks import vector_widths as widths


def test_every_kind_of_set_is_drawn():
    for data in widths.simulate_data(0):
        assert len(data.X) == len(data.y) in widths.ROWS
        assert np.all(np.isfinite(data.y_test))


def test_a_price_decides_between_vectors_and_lengths():
    few = widths.Fit(2, 0.0, 1.0, 0, 0.0, 1.0, 0.9)
    many = few._replace(vectors=6, log_evidence=5.0)
    apart = few._replace(lengths=3, log_evidence=4.0)
    assert widths.choose([few, many], widths.Price(1.0, 0.0, 1.0)) is many
    assert widths.choose([few, many], widths.Price(1.5, 0.0, 1.0)) is few
    assert widths.choose([few, apart], widths.Price(1.0, 1.0, 1.0)) is apart
    assert widths.choose([few, apart], widths.Price(1.0, 1.0, np.inf)) is few
    summary = widths.summarise([many], [few])
    assert summary["vectors"] == 6.0
    assert summary["mse_ratio"] == 1.0
