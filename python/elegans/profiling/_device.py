"""DeviceConfig: how to run on a chip, and what a run there should reach; from the table of chips of the library."""

from __future__ import annotations

from typing import Any, Iterator, Mapping

from .. import _core, _html
from ._figure import MB, Figure, Figures, figure_of, figure_table, unavailable
from ._profile import chip_name
from ._subject import as_model


class Validation(Figures):
    """Results by need: "met", "below minimum", "above the physical ceiling", ... and the figures behind them."""

    @property
    def failed(self) -> list[str]:
        """What missed its minimum, or took more than it should."""
        return [need for need, (result, _) in self.items() if result in ("below minimum", "more than it should take")]

    @property
    def unknown(self) -> list[str]:
        """Needs of which there was no figure."""
        return [need for need, (result, _) in self.items() if result == "unknown"]

    @property
    def passed(self) -> bool:
        """Whether no need was missed; unknown ones do not count."""
        return not self.failed

    def _repr_html_(self) -> str:
        return _html.table([(need, *found) for need, found in self.items()], ("need", "result", "because"))


class DeviceConfig:
    """A chip of the table ("M1", "M1_Pro", "M4 Max"), or this machine. Memory is in MB.

    The targets that guides ask of some chips are more than these have: `min_tflops` and `target_tflops` are what is asked,
    `peak_tflops` is what there is, and validate_performance() says which of them a run missed.

    >>> config = DeviceConfig("M1_Pro")
    >>> config.get_optimal_batch_size(), float(config.min_tflops), float(config.target_tflops), float(config.peak_tflops)
    (64, 4.0, 6.0, 5.31)
    >>> config.validate_performance({"tflops": 4.5, "bandwidth": 160.0, "peak_memory": 900.0})["compute"][0]
    'above the physical ceiling'
    >>> [key for key in device_configs if key.startswith("M1")]
    ['M1', 'M1_Pro', 'M1_Max', 'M1_Ultra']
    """

    def __init__(self, chip: str | None = None) -> None:
        self._chip = None if chip is None else chip_name(chip)
        preset = _core.preset(self._chip)
        self.name: str = preset["chip"]
        self.tier: str = preset["tier"]
        self.provenance: str = preset["provenance"]
        self.rule: str = preset["rule"]
        self.batch_size: int = preset["batch"]
        self.batch_range: tuple[int, int] = (preset["batch_low"], preset["batch_high"])
        self.backbone_units: list[int] = [preset["backbone_units"]] * preset["backbone_layers"]
        self.backbone_layers: int = preset["backbone_layers"]
        self.backbone_dropout: float = preset["dropout"]
        self.neural_engine: bool = preset["neural_engine"]
        self.compiled: bool = preset["compiled"]
        self.memory_budget = Figure(preset["memory_budget"] / MB, preset["provenance"], "MB", preset["rule"])
        self.power_budget = figure_of(preset["power"])
        needs = {row["name"]: row for row in preset["requirements"] if row["name"]}
        reasons = [row["reason"] for row in preset["requirements"] if not row["name"]]
        self.min_tflops, self.target_tflops, self.peak_tflops = self._need(needs, "compute", reasons)
        self.min_bandwidth, self.target_bandwidth, self.peak_bandwidth = self._need(needs, "bandwidth", reasons)
        self.min_memory, self.target_memory, self.memory = self._need(needs, "memory", reasons)

    def _need(self, needs: Mapping[str, Any], name: str, reasons: list[str]) -> tuple[Figure, Figure, Figure]:
        row = needs.get(name)
        if row is None:
            missing = unavailable(reasons[0] if reasons else "unknown")
            return missing, missing, missing
        of = (
            ("modelled", "a fraction of what was measured here")
            if self._chip is None
            else ("spec", f"tier {self.tier}")
        )
        minimum, target = (Figure(row[key], of[0], row["unit"], of[1]) for key in ("minimum", "target"))
        return minimum, target, figure_of(row["ceiling"])

    @property
    def bandwidth(self) -> Figure:
        """GB/s that the memory of the chip has: peak_bandwidth."""
        return self.peak_bandwidth

    def get_optimal_batch_size(self) -> int:
        """The batch of this chip's preset."""
        return self.batch_size

    def get_optimal_backbone(self) -> list[int]:
        """The units of each backbone layer of this chip's preset."""
        return list(self.backbone_units)

    def chip(self) -> dict[str, Any] | None:
        """The row of the table; None for a machine that has none."""
        return None if self._chip is None else _core.chip(self._chip)

    def validate_performance(self, stats: Any, batch_size: int | None = None, seq_length: int = 16) -> Validation:
        """What a run reached beside what is required: of figures, or of a model, which is profiled here or projected.

        Figures are those of MLXProfiler: tflops, bandwidth (GB/s), peak_memory, peak_usage or memory (MB). What is not
        among them is unknown. A target beyond the hardware is never "failed": no run could reach it.
        """
        if not isinstance(stats, Mapping):
            if self._chip is not None:
                return self._projected(stats, batch_size or self.batch_size, seq_length)
            stats = self._measured(stats, batch_size or self.batch_size, seq_length)
        memory = next((stats[key] for key in ("peak_memory", "peak_usage", "memory") if key in stats), None)
        given = {
            "compute": (stats.get("tflops"), "TFLOP/s"),
            "bandwidth": (stats.get("bandwidth"), "GB/s"),
            "memory": (memory, "MB"),
        }
        sizes, overhead = _sizes(getattr(stats, "profile", None))
        result = Validation()
        for need, (value, unit) in given.items():
            if value is None:
                result[need] = ("unknown", "not among the figures")
            elif isinstance(value, Figure) and not value.available:
                result[need] = ("unknown", value.reason)
            else:
                result[need] = _core.check(need, float(value), unit, self._chip, sizes.get(need), overhead)
        return result

    def _measured(self, model: Any, batch: int, seq: int) -> Figures:
        from ._profiler import quick_profile

        return quick_profile(model, batch, seq)

    def _projected(self, model: Any, batch: int, seq: int) -> Validation:
        row = _core.project(as_model(model), [str(self._chip)], batch, seq)[0]
        memory = ("unknown", "a projection: nothing ran there")
        return Validation(compute=row["compute"], bandwidth=row["bandwidth"], memory=memory)

    def _repr_html_(self) -> str:
        names = ("min_tflops", "target_tflops", "peak_tflops", "min_bandwidth", "target_bandwidth", "peak_bandwidth")
        figures = [(name, getattr(self, name)) for name in (*names, "memory", "memory_budget", "power_budget")]
        return _html.title(self.name, f"tier {self.tier}, batches of {self.batch_size}") + figure_table(figures)

    def __repr__(self) -> str:
        where = "this machine" if self._chip is None else "of the table"
        return f"DeviceConfig({self.name!r}, {where}: tier {self.tier}, batch {self.batch_size})"


def _sizes(profile: Any) -> tuple[dict[str, float], float]:
    """What a run computes and moves, and the seconds that starting its steps takes: a small one can reach no rate."""
    if profile is None:
        return {}, 0.0
    figures = {"compute": profile["flops"], "bandwidth": profile["dram_bytes"]}
    overhead = sum(row["seconds"] for row in profile.operations if row["bound"] == "overhead")
    return {need: float(figure) for need, figure in figures.items() if figure.available}, overhead


class DeviceConfigs(Mapping[str, DeviceConfig]):
    """Every chip of the table, by keys such as `M1_Pro`."""

    def __getitem__(self, key: str) -> DeviceConfig:
        return DeviceConfig(key)

    def __iter__(self) -> Iterator[str]:
        return (row["name"].replace(" ", "_") for row in _core.chips())

    def __len__(self) -> int:
        return len(_core.chips())


device_configs = DeviceConfigs()
