"""Runs in virtual time: the real runtime on engines that are a model of devices, batching and episode lengths."""
