"""Everything between the network and the service: who may come in, how often, and what they are told."""
