"""The kernels that the paper compares with, behind one interface."""
