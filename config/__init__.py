"""The Django project: settings, which nothing else reads from the environment, URLs and the ASGI entry point."""
