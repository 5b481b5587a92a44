"""The projection of the graph to Neo4j: what is noted, what is written, how it is built, compared and erased."""
