"""Implementations of the commands of the command line; ``relaxwl.cli`` parses their arguments."""
