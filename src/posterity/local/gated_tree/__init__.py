"""Trees of logistic gates with linear experts as leaves."""
