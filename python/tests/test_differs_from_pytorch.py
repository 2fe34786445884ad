"""The lines of "The same line, other numbers" in docs/coming-from-pytorch.md.

Each test has the formula of both libraries in NumPy, so that it needs no PyTorch. With PyTorch
installed the formulas that are said to be its own are compared with it.
"""

from __future__ import annotations

import dynet as dy
import numpy as np
import pytest

#: Of numbers around 1 in float32.
BOUND = 1e-6


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed")


def slopes(function, x):
    """The gradient of the sum of a function's results."""
    p = dy.ParameterCollection().add_parameters(len(x), init=np.array(x, float))
    dy.renew_cg()
    dy.sum_elems(function(p)).backward()
    return p.grad_as_array().tolist()


def torch_slopes(torch, function, x):
    p = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    function(p).sum().backward()
    return p.grad.tolist()


def softmax(x):
    e = np.exp(x - x.max(0))
    return e / e.sum(0)


# ---- gradients at corners -------------------------------------------------------------------------

CORNERS = [-2.0, -1.0, 0.0, 1.0, 2.0]


def test_clip_at_its_bounds():
    assert slopes(lambda p: dy.clip(p, -1.0, 1.0), CORNERS) == [0, 1, 1, 1, 0]


def test_clip_at_its_bounds_in_pytorch(torch):
    assert torch_slopes(torch, lambda p: p.clamp(-1, 1), CORNERS) == [0, 1, 1, 1, 0]
    hard = torch.nn.functional.hardtanh
    assert torch_slopes(torch, hard, CORNERS) == [0, 0, 1, 0, 0]


def test_equal_largest_numbers():
    x = [3.0, 1.0, 3.0]
    assert slopes(lambda p: dy.max_dim(p, 0), x) == [1, 0, 0]
    assert slopes(lambda p: dy.topk(p, 1)[0], x) == [1, 0, 0]


def test_equal_largest_numbers_in_pytorch(torch):
    assert torch_slopes(torch, lambda p: p.amax(0), [3.0, 1.0, 3.0]) == [0.5, 0, 0.5]
    assert torch_slopes(torch, lambda p: p.max(), [3.0, 1.0, 3.0]) == [0.5, 0, 0.5]


# ---- trainers -------------------------------------------------------------------------------------

GRADIENTS = [0.25, -0.5, 0.125, 1.0]


def path(make, **settings):
    m = dy.ParameterCollection()
    w = m.add_parameters(1, init=1.0)
    trainer = make(m, **settings)
    trainer.set_clip_threshold(0)
    found = []
    for g in GRADIENTS:
        dy.renew_cg()
        (w * dy.scalarInput(g)).backward()
        trainer.update()
        found.append(w.as_array().item())
    return found


def adam(corrected, largest=False, eps=0.1, rate=0.1):
    """`corrected`: PyTorch's place of epsilon, and of AMSGrad's maximum of v."""
    w, m, v, top, found = 1.0, 0.0, 0.0, 0.0, []
    for t, g in enumerate(GRADIENTS, 1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        top = max(top, v)
        root = np.sqrt(top if largest else v)
        if corrected:
            w -= rate * m / (1 - 0.9**t) / (root / np.sqrt(1 - 0.999**t) + eps)
        else:
            w -= rate * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (root + eps)
        found.append(w)
    return found


@pytest.mark.parametrize("largest", [False, True])
def test_epsilon_of_adam(largest):
    make = dy.AmsgradTrainer if largest else dy.AdamTrainer
    ours = path(make, alpha=0.1, beta_1=0.9, beta_2=0.999, eps=0.1)
    np.testing.assert_allclose(ours, adam(False, largest), atol=BOUND)
    assert np.abs(np.subtract(ours, adam(True, largest))).max() > 1e-3


@pytest.mark.parametrize("largest", [False, True])
def test_epsilon_of_adam_in_pytorch(torch, largest):
    w = torch.ones(1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([w], lr=0.1, eps=0.1, amsgrad=largest)
    found = []
    for g in GRADIENTS:
        w.grad = torch.tensor([g], dtype=torch.float64)
        optimizer.step()
        found.append(w.item())
    np.testing.assert_allclose(found, adam(True, largest), atol=1e-12)


def divided(sum_of, under_root, eps=0.1, rate=0.1):
    w, h, found = 1.0, 0.0, []
    for g in GRADIENTS:
        h = sum_of(h, g)
        w -= rate * g / (np.sqrt(h + eps) if under_root else np.sqrt(h) + eps)
        found.append(w)
    return found


@pytest.mark.parametrize(
    "make, sum_of",
    [
        (lambda m, **s: dy.AdagradTrainer(m, 0.1, **s), lambda h, g: h + g * g),
        (
            lambda m, **s: dy.RMSPropTrainer(m, 0.1, rho=0.9, **s),
            lambda h, g: 0.9 * h + 0.1 * g * g,
        ),
    ],
    ids=["Adagrad", "RMSProp"],
)
def test_epsilon_under_the_root(make, sum_of):
    ours = path(make, eps=0.1)
    np.testing.assert_allclose(ours, divided(sum_of, True), atol=BOUND)
    assert np.abs(np.subtract(ours, divided(sum_of, False))).max() > 1e-3


def test_momentum_has_the_rate_inside():
    """v = mom v - rate g here; v = mom v + g, w -= rate v in PyTorch: a new rate acts later here."""
    m = dy.ParameterCollection()
    w = m.add_parameters(1, init=1.0)
    trainer = dy.MomentumSGDTrainer(m, 0.1, 0.9)
    ours, here, v, theirs, u = [], 1.0, 0.0, 1.0, 0.0
    for rate, g in zip((0.1, 0.01), GRADIENTS):
        dy.renew_cg()
        (w * dy.scalarInput(g)).backward()
        trainer.learning_rate = rate
        trainer.update()
        ours.append(w.as_array().item())
        v = 0.9 * v - rate * g
        here += v
        u = 0.9 * u + g
        theirs -= rate * u
    assert ours[-1] == pytest.approx(here, abs=BOUND)
    assert abs(here - theirs) > 0.01


def test_rows_without_a_gradient():
    """Momentum moves a row that had a gradient once: with "dense" and "exact" updates only."""
    found = {}
    for updates in ("sparse", "dense", "exact"):
        m = dy.ParameterCollection()
        E = m.add_lookup_parameters((2, 1), init=dy.ConstInitializer(1.0))
        trainer = dy.MomentumSGDTrainer(m, 0.1, 0.9)
        trainer.lookup_updates = updates
        for row in (0, 1):
            dy.renew_cg()
            dy.sum_elems(E[row]).backward()
            trainer.update()
        found[updates] = E.as_array()[0].item()
    assert found["sparse"] == pytest.approx(0.9, abs=BOUND)
    assert found["dense"] == pytest.approx(1 - 0.1 - 0.09, abs=BOUND)
    assert found["exact"] == pytest.approx(found["dense"], abs=BOUND)


def test_clipping_is_on():
    m = dy.ParameterCollection()
    w = m.add_parameters(1, init=0.0)
    dy.renew_cg()
    (w * dy.scalarInput(20.0)).backward()
    dy.SimpleSGDTrainer(m, 1.0).update()
    assert w.as_array().item() == pytest.approx(-5.0)


# ---- losses ---------------------------------------------------------------------------------------


def test_the_loss_of_a_batch_is_one_number_each():
    scores = np.array([[0.5, 1.0], [0.0, -1.0], [2.0, 0.25]])
    labels = [2, 1]
    each = [-np.log(softmax(scores[:, k])[v]) for k, v in enumerate(labels)]
    dy.renew_cg()
    x = dy.inputTensor(scores, batched=True)
    losses = dy.pickneglogsoftmax_batch(x, labels)
    np.testing.assert_allclose(losses.npvalue().reshape(-1), each, atol=BOUND)
    assert dy.mean_batches(losses).value() == pytest.approx(np.mean(each), abs=BOUND)
    # The ignored one counts as 0, and the mean is over all; PyTorch leaves it out of the mean.
    losses = dy.cross_entropy_batch(x, labels, ignored=1)
    np.testing.assert_allclose(losses.npvalue().reshape(-1), [each[0], 0.0], atol=BOUND)
    assert dy.mean_batches(losses).value() == pytest.approx(each[0] / 2, abs=BOUND)


def test_the_mean_of_pytorch_leaves_ignored_classes_out(torch):
    scores = torch.tensor([[0.5, 0.0, 2.0], [1.0, -1.0, 0.25]], dtype=torch.float64)
    labels = torch.tensor([2, 1])
    entropy = torch.nn.functional.cross_entropy
    each = entropy(scores, labels, reduction="none")
    assert entropy(scores, labels).item() == pytest.approx(each.mean().item())
    assert entropy(scores, labels, ignore_index=1).item() == pytest.approx(each[0].item())


def test_gradient_of_ctc_by_log_probabilities():
    """The derivative of the loss by its argument: -(share of each class), which sums to -1 at each
    step. PyTorch's has softmax added, the derivative by scores behind log_softmax."""
    x = np.random.default_rng(1).normal(size=(3, 4))
    logs = np.log(softmax(x))
    m = dy.ParameterCollection()
    p, scores = m.add_parameters((3, 4), init=logs), m.add_parameters((3, 4), init=x)
    dy.renew_cg()
    dy.ctc_loss(p, [1, 2]).backward()
    dy.ctc_loss(dy.log_softmax(scores), [1, 2]).backward()
    np.testing.assert_allclose(p.grad_as_array().sum(0), -np.ones(4), atol=BOUND)
    np.testing.assert_allclose(scores.grad_as_array(), p.grad_as_array() + softmax(x), atol=BOUND)


# ---- layers ---------------------------------------------------------------------------------------


def test_causal_attention_of_fewer_queries():
    """Query j sees the keys up to j, as in PyTorch: not the last ones."""
    rng = np.random.default_rng(2)
    q, k, v = rng.normal(size=(2, 2)), rng.normal(size=(2, 4)), rng.normal(size=(3, 4))
    dy.renew_cg()
    got = dy.attention(*map(dy.inputTensor, (q, k, v)), causal=True).npvalue()
    for j in range(2):
        seen = slice(0, j + 1)
        p = softmax(q[:, j] @ k[:, seen] / np.sqrt(2))
        np.testing.assert_allclose(got[:, j], v[:, seen] @ p, atol=BOUND)


def test_causal_attention_of_fewer_queries_in_pytorch(torch):
    rng = np.random.default_rng(2)
    q, k, v = (torch.tensor(rng.normal(size=s)) for s in ((2, 2), (4, 2), (4, 3)))
    attend = torch.nn.functional.scaled_dot_product_attention
    y = attend(q[None], k[None], v[None], is_causal=True)[0]
    np.testing.assert_allclose(y[0], v[0], atol=1e-12)


def test_deviation_of_a_sample():
    x = np.array([1.0, 2.0, 4.0])
    assert dy.std_elems(dy.inputVector(x)).value() == pytest.approx(np.std(x), abs=BOUND)
    assert abs(np.std(x) - np.std(x, ddof=1)) > 0.1


def test_layer_norm_has_no_epsilon():
    x = np.array([0.001, 0.002, 0.004])
    dy.renew_cg()
    parts = [dy.inputVector(v) for v in (x, np.ones(3), np.zeros(3))]
    for settings, epsilon in (({}, 0.0), ({"epsilon": 1e-5}, 1e-5)):
        want = (x - x.mean()) / np.sqrt(x.var() + epsilon)
        got = dy.layer_norm(*parts, **settings).npvalue()
        np.testing.assert_allclose(got, want, atol=1e-4)


def test_forget_gate_of_a_new_lstm():
    """Nothing but the forget bias, which PyTorch has not: a cell of 1 keeps logistic(1)."""
    m = dy.ParameterCollection()
    for settings, bias in (({}, 1.0), ({"forget_bias": 0.0}, 0.0)):
        lstm = dy.VanillaLSTMBuilder(1, 2, 1, m, **settings)
        for p in lstm.param_collection().parameters_list():
            p.set_value(np.zeros(p.shape()))
        dy.renew_cg()
        start = lstm.initial_state([dy.inputVector([1.0]), dy.inputVector([0.0])])
        cell = start.add_input(dy.inputVector([0.0, 0.0])).s()[0].value()
        assert cell == pytest.approx(1 / (1 + np.exp(-bias)), abs=BOUND)


def test_update_gate_of_a_gru():
    """With z near 1 the new state is new here, and the old one in PyTorch."""
    gru = dy.GRUBuilder(1, 1, 1, dy.ParameterCollection(), reset_after=True)
    for p in gru.param_collection().parameters_list():
        p.set_value(np.zeros(p.shape()))
    gru.get_parameters()[0][2].set_value(np.array([20.0]))
    dy.renew_cg()
    state = gru.initial_state([dy.inputVector([1.0])]).add_input(dy.inputVector([0.0]))
    assert state.output().value() == pytest.approx(0.0, abs=BOUND)
    assert dy.to_torch(gru)["bias_ih_l0"].tolist() == [0.0, -20.0, 0.0]


def test_first_values():
    dy.reset_random_seed(1)
    m = dy.ParameterCollection()

    def reaches(p, bound):
        largest = np.abs(p.as_array()).max()
        return 0.98 * bound < largest <= bound * (1 + BOUND)

    assert reaches(m.add_parameters((30, 50)), np.sqrt(6 / (30 + 50)))
    assert not m.add_parameters(50, init=0).as_array().any()
    assert reaches(m.add_parameters(50), np.sqrt(3 / 50))  # a bias: PyTorch's is 1 / sqrt(inputs)
    assert reaches(m.add_parameters((3, 3, 8, 16)), np.sqrt(6 / (9 * 8 + 9 * 16)))
    table = m.add_lookup_parameters((1000, 50))  # normal with deviation 1 in PyTorch
    assert reaches(table, np.sqrt(6 / (1000 + 50)))
