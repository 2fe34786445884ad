import numpy as np

import dynet as dy


def cases():
    def product():
        dy.renew_cg()
        m = dy.ParameterCollection()
        w = m.parameters_from_numpy(np.arange(6.0).reshape(2, 3))
        y = w * dy.inputVector([1, 2, 3])
        dy.sum_elems(y).backward()
        return {"y": y.npvalue(), "dw": w.grad_as_array(), "dim": y.dim()}

    yield "product", product
