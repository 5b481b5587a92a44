"""The Django project: settings, URLs and the ASGI entry point; the only place that knows the environment."""
