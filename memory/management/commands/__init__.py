"""The management commands; each is thin over the services that it calls."""
