"""The core of the graph: comparing names, labels and kinds, what a question names, and steps over edges in SQL."""
