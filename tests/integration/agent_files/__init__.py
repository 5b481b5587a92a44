"""Files that agents are made of."""
