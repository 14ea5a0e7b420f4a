"""Latent points of rows, found by means of other groups."""

import numpy as np

from posterity import GPLVM
from posterity.latent.gplvm import find_hypotheses, locate_left_out


def test_points_of_a_group_do_not_depend_on_its_own_rows():
    t = np.linspace(-1.5, 1.5, 24)
    Y = np.column_stack([np.sin(t), np.cos(t), t, t**2])
    fitted = GPLVM(1, random_state=0).fit(Y)._fitted.model
    groups = np.arange(24) % 3
    seen = fitted.Y.copy()
    seen[:, 3] = np.nan
    points = locate_left_out(fitted, groups, seen)
    for group in range(3):
        rest = fitted.condition_on(np.flatnonzero(groups != group))
        own = np.flatnonzero(groups == group)
        for row in own[::3]:
            found = find_hypotheses(rest.decoder, seen[[row]], candidates=rest.X)
            best = found.point[np.argmax(found.weight)]
            np.testing.assert_allclose(points[row], best, atol=1e-4)
