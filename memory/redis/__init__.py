"""What processes share through Redis where REDIS_URL is set: counts with a limit, calls of workers, and notices."""
