"""What the models answer, as typed results: frozen, free of torch. Import each from the module that defines it."""
