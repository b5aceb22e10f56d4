"""What the service does, one file a noun: each operation takes checked values and a context, and answers plain
values."""
