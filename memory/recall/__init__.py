"""Recall: from a query to ranked memories with reasons. Services compose it; nothing here opens a transaction."""
