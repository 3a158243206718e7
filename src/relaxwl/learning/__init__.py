"""Learning from Gram matrices and vectors: models that know nothing of graphs."""
