"""Whether migrations let processes of the last release work on beside those of the new one."""
