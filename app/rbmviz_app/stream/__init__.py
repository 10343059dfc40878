"""The live path: the WebSocket route, what a browser may say on it, and the frames that it is sent."""
