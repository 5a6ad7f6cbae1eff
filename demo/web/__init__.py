"""The layers between the network and the service: app, server, limits, sessions, headers, metrics and traces."""
