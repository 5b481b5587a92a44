"""What the projection of the graph looks like in Neo4j, and the Cypher that writes and compares it."""
