"""The palace: pages on which a person searches, adds to, corrects and forgets what is remembered."""
