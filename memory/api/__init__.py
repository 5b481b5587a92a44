"""The REST interface, version 1: thin views over the services, one form for every error."""
