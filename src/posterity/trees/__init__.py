"""Families of test functions, and the trees, ferns, forests and boosted steps grown on them."""
