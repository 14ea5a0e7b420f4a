"""From a prior and a likelihood to a posterior; each package is imported by its own name."""
