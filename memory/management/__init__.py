"""What operators type: the management commands and what several of them share."""
