"""Live pages: a channel layer over PostgreSQL's notices, and the websocket on which pages hear what has changed."""
