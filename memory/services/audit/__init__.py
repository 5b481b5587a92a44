"""The audit: what is recorded, the chain that seals it, and its verification."""
