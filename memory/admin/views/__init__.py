"""The pages of the admin that are no lists of rows."""
