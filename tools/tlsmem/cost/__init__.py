"""What a session of a stack costs, on one screen: the answer that most readers come for."""
