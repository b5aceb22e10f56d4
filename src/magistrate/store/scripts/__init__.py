"""Makes writes as scripts, generators that yield statements and receive their rows, on every database."""
