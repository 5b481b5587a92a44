"""What Loci does: functions with keyword-only arguments, the actor first.

Each owns its transaction and raises the domain errors of `memory.errors`. REST, palace, commands and tasks call these.
"""
