"""The memory of agents: what is remembered, how it is found, and who may see it."""
