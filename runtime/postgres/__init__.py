"""The embedded PostgreSQL: finding a server, running one data directory, roles, backups."""
