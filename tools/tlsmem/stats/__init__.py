"""Numbers from records: session cost, memory model, repeats. No text."""
