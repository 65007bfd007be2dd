"""The story of a stack, from its first deployment to its second."""
