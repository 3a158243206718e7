"""Exact distances: transport between measures, edit distances between trees, whole sets at a time."""
