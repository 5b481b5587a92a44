"""What processes share through Redis where REDIS_URL is set: counts, limits, calls of workers, and the connection."""
