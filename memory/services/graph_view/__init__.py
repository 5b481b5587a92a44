"""The graph as a picture: what is around a few seeds, ranked and cut, with a place for each thing."""
