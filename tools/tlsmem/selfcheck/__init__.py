"""Claims about our own figures, checked on recordings and against other profilers."""
