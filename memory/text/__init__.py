"""Plain text: its limits, its words and its cheap signals. Nothing here touches a database or a setting."""
