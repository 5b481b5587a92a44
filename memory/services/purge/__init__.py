"""Purges: erasing an owner, or a part of what is remembered, everywhere and provably."""
