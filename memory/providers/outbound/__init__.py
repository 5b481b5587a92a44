"""What leaves this machine for providers: where to, over which TLS, and the record of it."""
