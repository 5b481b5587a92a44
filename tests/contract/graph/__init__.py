"""The contract of stores of the graph, on PostgreSQL and on a real Neo4j."""
