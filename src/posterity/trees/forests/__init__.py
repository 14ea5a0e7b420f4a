"""Many trees: their leaves, the way to them, and what rows not seen teach."""
