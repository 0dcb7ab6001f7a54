"""Texts to vectors: packaged weights, exported once to ONNX."""
