"""A document-sharing application. Who may do what is decided by Magistrate alone; titles and texts are kept here."""
