"""What a predictor tried, what it chose, and what it scored: the ``report_`` of a fit."""

from dataclasses import dataclass

from relaxwl.learning.heads import Tried


@dataclass(frozen=True)
class FitReport:
    """A summary of a fit; printing it shows a table.

    Attributes
    ----------
    task : str
        What was learned, in words.
    metric : str
        What scores are: "accuracy" or "weighted accuracy" (larger is better), or "RMSE" (smaller is better).
    tried : tuple of Tried
        Everything that took part in the choice.
    chosen : str
        The name of what was chosen.
    score : float
        Its cross-validated score. It was chosen by these scores, so it is a little optimistic.
    baseline : float
        The same score of who does not look at the graphs: the largest class, or the mean.
    baseline_name : str
        Which of the two it is.
    kernels : tuple of str
        What was fitted.
    left_out : tuple of str
        What was not tried, and why.
    seconds : float
        Duration of the fit.
    """

    task: str
    metric: str
    tried: tuple[Tried, ...]
    chosen: str
    score: float
    baseline: float
    baseline_name: str
    kernels: tuple[str, ...]
    left_out: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        width = max(len(name) for name in (self.baseline_name, *(one.name for one in self.tried)))
        lines = [self.task, f"kernels: {', '.join(self.kernels)}", f"{'':{width}}  {self.metric}, cross-validated"]
        for one in self.tried:
            mark = "  <- chosen" if one.name == self.chosen else ""
            lines.append(f"{one.name:{width}}  {self.number(one.score)}{one.detail and '  ' + one.detail}{mark}")
        lines.append(f"{self.baseline_name:{width}}  {self.number(self.baseline)}")
        lines += [f"left out: {reason}" for reason in self.left_out]
        lines.append(f"{self.seconds:.1f} s")
        return "\n".join(lines)

    def number(self, value: float) -> str:
        """Return a score as the report prints it."""
        return f"{100 * value:5.1f} %" if self.metric.endswith("accuracy") else f"{value:.4g}"
