"""Liquid networks as estimators of scikit-learn: tables whose rows follow each other in time.

>>> import numpy
>>> t = numpy.arange(300) / 5
>>> X = numpy.stack([numpy.sin(t), numpy.cos(t)], axis=1)
>>> y = numpy.sin(t + 1)
>>> regressor = LiquidRegressor("cfc:16", epochs=40, rate=0.02, window=20).fit(X, y)
>>> regressor.predict(X).shape, bool(regressor.score(X, y) > 0.9)
((300,), True)
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from . import _data
from ._fit import Training, fit, predict
from ._model import Model

__all__ = ["LiquidClassifier", "LiquidRegressor"]


class _Liquid(BaseEstimator):  # type: ignore[misc]
    """What both estimators share; see LiquidRegressor for the parameters."""

    model_: Model
    training_: Training
    n_features_in_: int

    def __init__(
        self,
        model: str | Model = "cfc:autoncp:32:16",
        *,
        time: str | int | None = None,
        timespans: str | int | None = None,
        group: str | int | None = None,
        window: int | str | None = None,
        stride: int | None = None,
        last: bool = False,
        missing: str = "error",
        validation: float | None = None,
        loss: str | None = None,
        epochs: int = 50,
        patience: int | None = None,
        batch: int | str | None = None,
        rate: float = 0.01,
        optimizer: str = "adam",
        weight_decay: float = 0.0,
        clip: float | None = 1.0,
        schedule: str = "cosine",
        average: float | None = None,
        dtype: str | None = None,
        random_state: Any = 0,
        progress: bool | str = False,
    ) -> None:
        self.model = model
        self.time = time
        self.timespans = timespans
        self.group = group
        self.window = window
        self.stride = stride
        self.last = last
        self.missing = missing
        self.validation = validation
        self.loss = loss
        self.epochs = epochs
        self.patience = patience
        self.batch = batch
        self.rate = rate
        self.optimizer = optimizer
        self.weight_decay = weight_decay
        self.clip = clip
        self.schedule = schedule
        self.average = average
        self.dtype = dtype
        self.random_state = random_state
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = self.missing != "error"
        return tags

    # ---- data
    def _columns(self, X: Any, is_first: bool) -> dict[str, Any]:
        """The columns of X by name; inputs are checked as scikit-learn does it, the others only named."""
        special = [name for name in (self.time, self.timespans, self.group) if name is not None]
        finite: Any = True if self.missing == "error" else "allow-nan"
        if _data._is_frame(X):
            validate_data(self, X, reset=is_first, skip_check_array=True)
            labels = list(X.columns)
            missing = [name for name in special if name not in labels]
            if missing:
                raise ValueError(f"X: expected columns {missing}, given {labels}")
            inputs = [name for name in labels if name not in special]
            values = check_array(X[inputs], dtype="float64", ensure_all_finite=finite, estimator=self)
            columns: dict[str, Any] = {str(name): values[:, i] for i, name in enumerate(inputs)}
            return {**columns, **{str(name): X[name] for name in special}}
        values = validate_data(self, X, reset=is_first, dtype="float64", ensure_all_finite=finite)
        wrong = [
            i for i in special if not isinstance(i, (int, np.integer)) or not -values.shape[1] <= i < values.shape[1]
        ]
        if wrong:
            raise ValueError(f"X: expected columns {wrong}, given an array of {values.shape[1]} columns")
        return {f"x{i}": values[:, i] for i in range(values.shape[1])}

    def _roles(self, X: Any, columns: dict[str, Any]) -> dict[str, Any]:
        """Which column is what. Columns of arrays are named x0, x1, .."""
        names = list(columns)
        roles: dict[str, Any] = {}
        for role in ("time", "timespans", "group"):
            name = getattr(self, role)
            roles[role] = None if name is None else str(name) if _data._is_frame(X) else names[name]
        roles["inputs"] = [name for name in names if name not in roles.values()]
        return roles

    def _fit(self, X: Any, y: Any, options: dict[str, Any], groups: Any, timespans: Any) -> None:
        """Trains on X and y, [rows] or [rows, outputs] (of samples: as fit() takes them)."""
        extras = {"group": groups, "timespans": timespans}
        extras = {name: values for name, values in extras.items() if values is not None}
        if _rank(X) == 3:
            data: Any = (check_array(X, dtype="float64", allow_nd=True, ensure_all_finite=self.missing == "error"), y)
            roles: dict[str, Any] = {}
            self.n_features_in_ = np.shape(X)[2]
        else:
            columns = self._columns(X, True)
            roles = self._roles(X, columns)
            targets = {_free(f"y{i}", columns): values for i, values in enumerate(np.asarray(y).reshape(len(y), -1).T)}
            data = {**columns, **targets}
            roles["targets"] = list(targets)
        model = self.model if isinstance(self.model, str) else _copied(self.model)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "target .* is 0 or 1 in all rows")
            self.training_ = fit(
                model,
                data,
                **{**roles, **extras},
                window=self.window,
                stride=1 if self.window == 1 else self.stride,
                partial=True,
                last=self.last or None,
                missing=self.missing,
                validation=self.validation,
                epochs=self.epochs,
                patience=self.patience,
                batch=self.batch,
                rate=self.rate,
                optimizer=self.optimizer,
                weight_decay=self.weight_decay,
                clip=self.clip,
                schedule=self.schedule,
                average=self.average,
                dtype=self.dtype,
                seed=_seed(self.random_state),
                progress=self.progress,
                **options,
            )
        self.model_ = self.training_.model
        self.n_iter_ = self.training_.epochs

    def _predict(self, X: Any, groups: Any, timespans: Any) -> np.ndarray[Any, Any]:
        """Outputs of each row, or of each sample."""
        check_is_fitted(self)
        options = {"group": groups, "timespans": timespans}
        options = {name: values for name, values in options.items() if values is not None}
        if _rank(X) == 3:
            data: Any = check_array(X, dtype="float64", allow_nd=True, ensure_all_finite=self.missing == "error")
        else:
            data = self._columns(X, False)
        # rows that were learned one by one have no past
        cut: dict[str, Any] = {"window": 1, "stride": 1} if self.window == 1 else {}
        return np.asarray(predict(self.model_, data, **options, **cut))


def _rank(X: Any) -> int:
    return 2 if _data._is_frame(X) else int(X.ndim) if hasattr(X, "ndim") else np.asarray(X).ndim


def _free(name: str, taken: dict[str, Any]) -> str:
    while name in taken:
        name += "_"
    return name


def _copied(model: Model) -> Model:
    """Another model with the same values: fitting changes no parameter of an estimator."""
    import pickle

    copy: Model = pickle.loads(pickle.dumps(model))
    return copy


def _seed(random_state: Any) -> int:
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


class LiquidRegressor(MultiOutputMixin, RegressorMixin, _Liquid):  # type: ignore[misc]
    """A liquid network that learns numbers.

    X is a frame or an array [rows, features] whose rows follow each other in time, or an array of samples [samples,
    time, features]; y is [rows], [rows, outputs], or of samples [samples, outputs] or [samples, time, outputs]. A frame
    may have a column of times or dates (`time`) or of times between rows (`timespans`), and one whose value changes
    where a recording begins (`group`); the network sees how much time passes. All other columns are inputs.

    `model` is a spec, which the data complete, or a Model to begin from, which stays as it is. Recordings are cut into
    windows of `window` rows for training (None: 64; "whole": not at all); a prediction knows all rows of X before its
    own. window=1: rows have nothing to do with each other. `loss` is "mse", "mae" or "huber"; `validation` a fraction
    that chooses the best epoch, together with `patience`. The others are those of elegans.fit.

    `model_` is the trained network, `training_` how it went; inputs and targets are standardized inside.
    """

    def fit(self, X: Any, y: Any, groups: Any = None, timespans: Any = None) -> LiquidRegressor:
        """Trains a network. `groups` and `timespans`, [rows], are columns that X does not have."""
        finite: Any = True if self.missing == "error" else "allow-nan"
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        values = check_array(
            y, dtype="float64", ensure_2d=False, allow_nd=True, ensure_all_finite=finite, input_name="y", estimator=self
        )
        if values.ndim == 2 and values.shape[1] == 1 and _rank(X) == 2:
            values = column_or_1d(values, warn=True)
        check_consistent_length(X, values)
        self._is_flat = values.ndim == 1
        self._fit(X, values, {"loss": self.loss or "mse"}, groups, timespans)
        return self

    def predict(self, X: Any, groups: Any = None, timespans: Any = None) -> np.ndarray[Any, Any]:
        """What the network says of each row, or sample: shaped as y was."""
        said = self._predict(X, groups, timespans).astype("float64")
        return said[..., 0] if self._is_flat else said


class LiquidClassifier(ClassifierMixin, _Liquid):  # type: ignore[misc]
    """A liquid network that learns classes; parameters and data as of LiquidRegressor, y is [rows] or [samples].

    `classes_` are the values of y in ascending order. `loss` is "classes": cross entropy.
    """

    classes_: np.ndarray[Any, Any]

    def fit(self, X: Any, y: Any, groups: Any = None, timespans: Any = None) -> LiquidClassifier:
        """Trains a network. `groups` and `timespans`, [rows], are columns that X does not have."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        if self.loss not in (None, "classes"):
            raise ValueError(f"loss: expected 'classes', given {self.loss!r}")
        values = column_or_1d(y, warn=True)
        check_classification_targets(values)
        check_consistent_length(X, values)
        if _rank(X) != 3:
            self._columns(X, True)  # faults of X go before those of y
        self.classes_, codes = np.unique(values, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"{type(self).__name__}: y has 1 class, {self.classes_[0]!r}; at least 2 are needed")
        names = [str(value) for value in self.classes_]
        if "" in names or len(set(names)) < len(names):
            names = [str(code) for code in range(len(names))]
        self._fit(X, np.array(names, dtype=object)[codes], {"loss": "classes", "classes": names}, groups, timespans)
        return self

    def predict_proba(self, X: Any, groups: Any = None, timespans: Any = None) -> np.ndarray[Any, Any]:
        """The probability of each class, in the order of classes_."""
        said = self._predict(X, groups, timespans).astype("float64")
        said /= said.sum(axis=-1, keepdims=True)
        return said

    def predict(self, X: Any, groups: Any = None, timespans: Any = None) -> np.ndarray[Any, Any]:
        """The most likely class of each row, or sample."""
        said = self.predict_proba(X, groups, timespans)
        if np.isnan(said).any():
            raise ValueError(
                "X: rows with missing values have no class (missing='drop'); predict_proba has NaN for them"
            )
        chosen: np.ndarray[Any, Any] = self.classes_[said.argmax(axis=-1)]
        return chosen
