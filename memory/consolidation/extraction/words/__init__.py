"""The words that the rules know, as plain tables: names, things, themes, and the phrases of each language."""
