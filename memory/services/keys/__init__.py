"""Life of the keys: rotation of text keys, the master key's replacement, and what tells whether everything opens."""
