"""The live path: the WebSocket route, the messages from browsers, and the frames sent to them."""
