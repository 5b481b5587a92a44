"""The admin: pages for the staff that runs the installation."""
