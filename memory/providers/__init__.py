"""Implementations of the ports, and the module that composes them from the settings."""
