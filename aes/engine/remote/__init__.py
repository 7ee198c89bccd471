"""Engines elsewhere: `vllm serve` with our worker and our door, driven over HTTP.

    RemoteEngine --Connection--Link-->  HTTP  --> Door --Desk--> Engine (vLLM in that server)
    handshake: the same wire, extension, model, dtype, room for the adapters      host: what `vllm serve` was started as
    one lease at a time; it ends with its driver, and what was asked for under it is given up then

Token ids, seeds and scalars cross the wire; weights do twice: A where it starts from activations, and an exported
adapter, both as safetensors that are checked where they arrive.
"""
