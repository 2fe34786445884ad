"""Writes torch_transformers.json, the results of PyTorch's Transformers with given weights.

Run it with a Python that has torch: python python/tests/make_torch_transformers.py
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import nn

DIM, HEADS, HIDDEN, LAYERS = 4, 2, 5, 2
EPSILON = 1e-14  # DyNet adds 1e-8 to the deviation, PyTorch this to the variance


def fill(module):
    """Numbers of which no two are alike."""
    k = 0
    for p in module.parameters():
        with torch.no_grad():
            flat = torch.sin(1.0 + 0.7 * torch.arange(k, k + p.numel(), dtype=torch.float64))
            p.copy_(0.6 * flat.reshape(p.shape))
        k += p.numel()


def attention(p):
    """wq, bq, wk, bk, wv, bv, wo, bo, each with its gradient."""
    parts = []
    for i in range(3):
        rows = slice(i * DIM, (i + 1) * DIM)
        for q in (p.in_proj_weight, p.in_proj_bias):
            parts.append((q[rows], q.grad[rows]))
    return parts + [(q, q.grad) for q in (p.out_proj.weight, p.out_proj.bias)]


def layer(p, has_memory):
    """In the order of DyNet's parameters."""
    parts = attention(p.self_attn)
    if has_memory:
        parts += attention(p.multihead_attn)
    norms = [p.norm1, p.norm3, p.norm2] if has_memory else [p.norm1, p.norm2]
    for part in [p.linear1, p.linear2, *norms]:
        parts += [(q, q.grad) for q in (part.weight, part.bias)]
    return parts


def case(pre_norm, gelu, has_memory):
    torch.manual_seed(1)
    make = nn.TransformerDecoderLayer if has_memory else nn.TransformerEncoderLayer
    stack = nn.TransformerDecoder if has_memory else nn.TransformerEncoder
    one = make(
        DIM, HEADS, HIDDEN, 0.0, "gelu" if gelu else "relu",
        layer_norm_eps=EPSILON, batch_first=True, norm_first=pre_norm, dtype=torch.float64,
    )  # fmt: skip
    last = nn.LayerNorm(DIM, EPSILON, dtype=torch.float64) if pre_norm else None
    module = stack(one, LAYERS, norm=last)
    fill(module)
    x = torch.randn(1, 3, DIM, dtype=torch.float64, requires_grad=True)
    memory = torch.randn(1, 5, DIM, dtype=torch.float64, requires_grad=True)
    if has_memory:
        mask = nn.Transformer.generate_square_subsequent_mask(3, dtype=torch.float64)
        y = module(x, memory, tgt_mask=mask)
    else:
        y = module(x)
    (y**3).sum().backward()
    parts = [part for p in module.layers for part in layer(p, has_memory)]
    if pre_norm:
        parts += [(q, q.grad) for q in (last.weight, last.bias)]
    return {
        "pre_norm": pre_norm,
        "gelu": gelu,
        "has_memory": has_memory,
        "x": x[0].T.tolist(),
        "memory": memory[0].T.tolist(),
        "y": y[0].T.tolist(),
        "dx": x.grad[0].T.tolist(),
        "parameters": [p.tolist() for p, _ in parts],
        "gradients": [g.tolist() for _, g in parts],
    }


CASES = [
    case(pre_norm, gelu, has_memory)
    for pre_norm, gelu in ((True, False), (False, False), (True, True))
    for has_memory in (False, True)
]


def rounded(x):
    return [rounded(y) for y in x] if isinstance(x, list) else float(f"{x:.9g}")


if __name__ == "__main__":
    lines = []
    for c in CASES:
        fields = {k: rounded(v) if isinstance(v, list) else v for k, v in c.items()}
        lines.append(json.dumps(fields))
    path = Path(__file__).with_name("torch_transformers.json")
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")
