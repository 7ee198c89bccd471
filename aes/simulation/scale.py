"""What a run costs at a given size, by arithmetic alone: tokens, memory, seconds of a step, load on the driver.

Every formula stands where it is used; what is assumed and not known is a field of `Gpu` or `Load` with its source
beside it. Bytes are plain bytes, GB = 1e9 bytes, as makers of memory count.
"""

from __future__ import annotations

from dataclasses import dataclass

from aes.simulation.speed import Curve, Speed

BF16, FLOAT32 = 2, 4


@dataclass(frozen=True)
class Shape:
    """A decoder-only transformer with grouped-query attention and a gated MLP, as its public configuration has it."""

    name: str
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int

    @property
    def linears(self) -> tuple[tuple[int, int], ...]:
        """(inputs, outputs) of the linear layers of one block: q, k, v, o, gate, up, down."""
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        attention = ((self.hidden, queries), (self.hidden, keys), (self.hidden, keys), (queries, self.hidden))
        wide = (self.hidden, self.intermediate)
        return (*attention, wide, wide, wide[::-1])

    @property
    def read(self) -> int:
        """Parameters that one decoding step reads: all blocks and the output head, but not the input embedding."""
        return self.layers * sum(i * o for i, o in self.linears) + self.vocabulary * self.hidden

    @property
    def parameters(self) -> int:
        """Parameters held: those read, and an input embedding of its own (biases and norms are left out: < 0.1 %)."""
        return self.read + self.vocabulary * self.hidden

    @property
    def kv_bytes(self) -> int:
        """KV cache of one token: keys and values of every layer in bfloat16."""
        return 2 * self.layers * self.kv_heads * self.head_dim * BF16

    def lora(self, rank: int) -> int:
        """Parameters of one adapter on all linear layers: rank * (inputs + outputs) of each."""
        return self.layers * rank * sum(i + o for i, o in self.linears)


QWEN_7B = Shape("Qwen2.5-7B", 28, 3584, 18944, 28, 4, 128, 152064)


@dataclass(frozen=True)
class Gpu:
    """A device. Memory, bandwidth and operations a second are the maker's; all else is assumed, not measured here.

    Attributes:
        memory_share: what vLLM may take.
        bandwidth_share, flops_share: of the peaks, what decoding and prefill get.
        step_overhead: seconds of a step beside that: scheduling, launches, sampling.
        normals: normal numbers drawn and added a second.
        digest: bytes of the centre hashed a second, by one core beside the device.
    """

    name: str
    memory: float
    bandwidth: float
    flops: float
    memory_share: float = 0.9
    bandwidth_share: float = 0.6
    flops_share: float = 0.4
    step_overhead: float = 0.003
    normals: float = 2e10
    digest: float = 1e9


H100 = Gpu("H100 SXM 80 GB", 80e9, 3.35e12, 989e12)


@dataclass(frozen=True)
class Load:
    """One run: who plays what, and on how many devices. Lengths are means."""

    pairs: int
    goals: int = 16
    turns: float = 6.0
    first_prompt: int = 250
    prompt: int = 200
    reply: int = 50
    devices: int = 8
    slots: int = 16
    sequences: int = 256
    max_lag: int = 1
    rank: int = 32
    driver_us: float = 400.0


@dataclass(frozen=True)
class Reckoning:
    """The arithmetic of one load on one kind of device with one model."""

    shape: Shape
    gpu: Gpu
    load: Load

    # What is played

    @property
    def episodes(self) -> int:
        """Of one update: 2 members a pair, each on every goal."""
        return 2 * self.load.pairs * self.load.goals

    @property
    def decoded(self) -> float:
        """Tokens written for one update: episodes * turns * reply."""
        return self.episodes * self.load.turns * self.load.reply

    @property
    def prefilled(self) -> float:
        """Tokens read for one update, the prefix cache holding all that was there the turn before."""
        return self.episodes * (self.load.first_prompt + (self.load.turns - 1) * self.load.prompt)

    @property
    def members(self) -> float:
        """In flight on one device: no more than slots, nor than 2 * pairs * (max_lag + 1) over all devices."""
        return min(self.load.slots, 2 * self.load.pairs * (self.load.max_lag + 1) / self.load.devices)

    @property
    def batch(self) -> int:
        """Sequences decoded together on one device while all its members are at their start."""
        return min(self.load.sequences, round(self.members * self.load.goals))

    # Memory of one device, in bytes

    @property
    def context(self) -> float:
        """Tokens of an episode at its end."""
        load = self.load
        return load.first_prompt + (load.turns - 1) * load.prompt + load.turns * load.reply

    @property
    def kv(self) -> float:
        """KV cache of a full batch whose episodes are half-way on average."""
        return self.batch * self.context / 2 * self.shape.kv_bytes

    @property
    def adapters(self) -> float:
        """Adapter slots on the device, one more for evaluation, in bfloat16."""
        return (self.load.slots + 1) * self.shape.lora(self.load.rank) * BF16

    @property
    def centre(self) -> float:
        """Versions of the centre in float32: max_lag + 1, one for evaluation, and one being made."""
        return (self.load.max_lag + 3) * self.shape.lora(self.load.rank) * FLOAT32

    @property
    def weights(self) -> float:
        """The base model in bfloat16."""
        return self.shape.parameters * BF16

    @property
    def room(self) -> float:
        """What is left for the KV cache."""
        return self.gpu.memory * self.gpu.memory_share - self.weights - self.adapters - self.centre

    # Time of one device, in seconds

    def step(self, batch: int) -> float:
        """One decoding step: the larger of reading and computing, and a fixed cost.

        It reads the weights, the adapters present (no more than there are sequences) and the caches of the batch; it
        computes 2 operations a parameter and sequence. Adapters are taken to be read at the same rate as weights.
        """
        present = min(batch, self.members) * self.shape.lora(self.load.rank) * BF16
        moved = self.shape.read * BF16 + present + batch * self.context / 2 * self.shape.kv_bytes
        computed = 2 * batch * (self.shape.read + self.shape.lora(self.load.rank))
        gpu = self.gpu
        busy = max(moved / (gpu.bandwidth * gpu.bandwidth_share), computed / (gpu.flops * gpu.flops_share))
        return gpu.step_overhead + busy

    @property
    def prefill(self) -> float:
        """One prompt token, computing being the limit."""
        return 2 * (self.shape.read + self.shape.lora(self.load.rank)) / (self.gpu.flops * self.gpu.flops_share)

    @property
    def build(self) -> float:
        """One member's adapter: its normals are drawn, added and cast."""
        return self.shape.lora(self.load.rank) / self.gpu.normals

    @property
    def update(self) -> float:
        """One update: every pair's normals drawn again and added, and the new centre hashed."""
        return self.load.pairs * self.build + self.shape.lora(self.load.rank) * FLOAT32 / self.gpu.digest

    @property
    def speed(self) -> Speed:
        """The device for the simulator."""
        sizes = sorted({1, 2, *(size for size in (4, 8, 16, 32, 64, 128, 256, 512) if size < self.batch), self.batch})
        curve = Curve(tuple((size, self.step(size)) for size in sizes))
        return Speed(curve, self.prefill, build=self.build, update=self.update)

    @property
    def floor(self) -> float:
        """Seconds of an update if every device decoded full batches without a pause: nothing can be faster."""
        decoding = self.decoded / self.load.devices * self.step(self.batch) / self.batch
        reading = self.prefilled / self.load.devices * self.prefill
        building = 2 * self.load.pairs / self.load.devices * self.build
        return decoding + reading + building + self.update

    @property
    def turns_per_second(self) -> float:
        """Replies a second through the driver at that floor."""
        return self.episodes * self.load.turns / self.floor

    @property
    def driver_share(self) -> float:
        """Share of one core that the driver needs then; above 1 it is the bottleneck."""
        return self.turns_per_second * self.load.driver_us * 1e-6
