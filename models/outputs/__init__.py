"""The models' answers as typed results, frozen and free of torch. Import each from the module that defines it."""
