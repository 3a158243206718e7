"""Exact distances: transport between measures, edit distances between trees, bounds, whole sets at a time."""
