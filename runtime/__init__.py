"""What runs Loci on a machine: places, virtual environment, embedded PostgreSQL and child processes.

Nothing here imports Django or the apps.
"""
