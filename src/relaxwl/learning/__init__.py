"""Learning from Gram matrices and vectors: machines that know nothing of graphs."""
