"""Windows of images: sums of features that are scanned, learned, and read from files."""
