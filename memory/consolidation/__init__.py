"""The rules of consolidation: what is drawn from texts, what is doubted, what is forgotten. Nothing here writes."""
