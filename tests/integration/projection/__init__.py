"""The projection of the graph to Neo4j."""
