"""Writes torch_trainers.json, the numbers of PyTorch's trainers and schedules that equal ours.

Run it with a Python that has torch: python python/tests/make_torch_trainers.py
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import torch

STEPS = 40


def gradients():
    return [[0.1, 0.2 * math.sin(step), -0.3 + 0.01 * step] for step in range(STEPS)]


def trained(make):
    w = torch.tensor([0.5, -0.25, 1.0], dtype=torch.float64, requires_grad=True)
    optimizer = make([w])
    path = []
    for g in gradients():
        w.grad = torch.tensor(g, dtype=torch.float64)
        optimizer.step()
        path.append(w.tolist())
    return path


def rates(make, metrics=None):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.8)
    scheduler = make(optimizer)
    path = []
    for step in range(STEPS):
        path.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step(*([] if metrics is None else [metrics[step]]))
    return path


def main():
    schedulers = torch.optim.lr_scheduler
    # Falls, stays, rises, falls by less than the threshold.
    metrics = [round(3 * 0.9**s + 0.3 * math.sin(s), 6) + (s > 25) * 0.5 for s in range(STEPS)]
    table = {
        "torch": torch.__version__,
        "gradients": gradients(),
        # Without epsilon: PyTorch adds it to the corrected root, DyNet to the uncorrected one.
        "AdamW": trained(
            lambda p: torch.optim.AdamW(p, lr=0.05, betas=(0.8, 0.99), eps=1e-12, weight_decay=0.3)
        ),
        "CosineSchedule": rates(
            lambda o: schedulers.CosineAnnealingLR(o, T_max=STEPS, eta_min=0.1)
        ),
        "CyclicalSchedule": rates(
            lambda o: schedulers.CyclicLR(
                o,
                base_lr=0.1,
                max_lr=0.7,
                step_size_up=6,
                mode="exp_range",
                gamma=0.97,
                cycle_momentum=False,
            )
        ),
        "metrics": metrics,
        "PlateauSchedule": rates(
            lambda o: schedulers.ReduceLROnPlateau(
                o, factor=0.5, patience=2, threshold=0.01, min_lr=0.06
            ),
            metrics,
        ),
        "PlateauSchedule, larger": rates(
            lambda o: schedulers.ReduceLROnPlateau(
                o, mode="max", factor=0.5, patience=3, threshold=0.01
            ),
            metrics,
        ),
    }
    path = Path(__file__).with_name("torch_trainers.json")
    path.write_text(json.dumps(table, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
