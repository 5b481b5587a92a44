"""Encryption of stored text: derivation of subkeys, sealing of values, and the ring of owners' keys."""
