"""The two parts of the entropy of an average."""

import numpy as np
import pytest

from posterity.distributions import AveragedCategorical, Categorical


def members(seed=0, shape=(4, 5, 3)):
    return np.random.default_rng(seed).dirichlet(np.ones(shape[-1]), size=shape[:-1])


def test_epistemic_entropy_is_the_information_between_class_and_member():
    p = members()
    dist = AveragedCategorical.from_members(p)
    joint = p / p.shape[1]  # member and class together, members equally likely
    marginal = joint.sum(axis=1, keepdims=True)
    information = np.sum(joint * np.log(joint / (marginal / p.shape[1])), axis=(1, 2))
    np.testing.assert_allclose(dist.epistemic_entropy(), information, rtol=1e-12)
    np.testing.assert_allclose(dist.probabilities(), p.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(
        dist.epistemic_entropy() + dist.aleatoric_entropy(), dist.entropy(), rtol=1e-12
    )
    np.testing.assert_allclose(
        dist.aleatoric_entropy(), Categorical(np.log(p)).entropy().mean(axis=1), rtol=1e-12
    )


def test_weights_count_members_several_times():
    p = members()
    weighted = AveragedCategorical.from_members(p, np.log([0.5, 0.25, 0.25, 0.0 + 1e-300, 1e-300]))
    repeated = AveragedCategorical.from_members(p[:, [0, 0, 1, 2]])
    np.testing.assert_allclose(weighted.log_p, repeated.log_p, rtol=1e-9)
    np.testing.assert_allclose(weighted.epistemic_share, repeated.epistemic_share, rtol=1e-9)


def test_an_average_of_averages_is_the_average_of_all_members():
    p = members(shape=(6, 5, 3))
    halves = AveragedCategorical.from_members(p)
    whole = AveragedCategorical.from_members(p.reshape(2, 15, 3))
    np.testing.assert_allclose(
        AveragedCategorical(halves.log_p.reshape(2, 3, 3), halves.epistemic_share.reshape(2, 3))
        .average()
        .epistemic_share,
        whole.epistemic_share,
        rtol=1e-12,
    )


def test_certain_members_that_agree_have_no_entropy_to_share():
    dist = AveragedCategorical.from_members([[[1.0, 0.0], [1.0, 0.0]]])
    assert dist.epistemic_share[0] == 0.0
    assert dist.entropy()[0] == 0.0


def test_a_share_is_between_zero_and_one():
    with pytest.raises(ValueError, match=r"epistemic_share is 1\.5"):
        AveragedCategorical(np.log([0.5, 0.5]), 1.5)


def test_picking_keeps_the_share_of_each_prediction():
    dist = AveragedCategorical.from_members(members())
    assert dist[2] == AveragedCategorical(dist.log_p[2], dist.epistemic_share[2])
    assert dist[1:3].epistemic_share.shape == (2,)
