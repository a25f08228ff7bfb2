"""Every order in which things can happen to a world: tried one by one where they are few, drawn where they are many."""
