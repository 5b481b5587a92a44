"""Files that agents are made of: read, written with a check of versions, and kept with everything that they said."""
