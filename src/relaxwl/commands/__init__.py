"""What the commands of the command line do; ``relaxwl.cli`` parses their arguments."""
