"""Wasserstein k-means, barycentres, and other ways to group trees."""
