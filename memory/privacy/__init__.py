"""What protects people: personal data in text, and text that tries to give orders."""
