"""Kernel matrices of classes that overlap."""

import numpy as np


def gram_and_classes(n=90, n_classes=2, n_features=5, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    features = rng.standard_normal((n, n_features)) * noise
    features[np.arange(n), y] += 1.5
    return features @ features.T, y
