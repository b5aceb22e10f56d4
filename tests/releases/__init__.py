"""What each release stored, and how it answered."""
