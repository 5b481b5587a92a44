"""The catalogues of translations: what the source says, what translators said of it, and the form that is read."""
