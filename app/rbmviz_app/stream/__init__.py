"""The live path: the WebSocket route, what a browser may send, and the frames that it receives."""
