"""What can be done with the graph: entities, relations, events, causes and links of memories.

Every write begins with `writing.change_graph`, which makes the writers of one owner wait for each other at one row.
"""
