"""Reading SQL that the product sends: whether each table of owners is narrowed to an owner, and catching statements."""
