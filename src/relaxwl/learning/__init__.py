"""Learning from Gram matrices and vectors: models that are independent of graphs."""
