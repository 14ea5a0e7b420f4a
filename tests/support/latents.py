"""The moments of latent values as plain arrays, in the shape that a test compares."""


def with_covariance(latent):
    """Mean (n, C) and covariance (n, C, C)."""
    return latent.mean, latent.covariance


def with_variance(latent):
    """Mean (n, C) and variance (n, C)."""
    return latent.mean, latent.variance


def of_one(latent):
    """Mean (n,) and variance (n,) of the only latent function."""
    assert latent.mean.shape[1] == 1
    return latent.mean[:, 0], latent.variance[:, 0]
