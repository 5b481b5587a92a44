"""A real Bolt server for tests: Neo4j Community from Maven Central, started on loopback by a small Java program."""
