"""What browsers are told at once."""
