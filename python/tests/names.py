"""The public names of DyNet 2.1 for Python, as signatures: test_names.py looks for them."""

from __future__ import annotations

FUNCTIONS = """
init(shared_parameters=None)
init_from_params(params)
reset_random_seed(seed)
renew_cg(immediate_compute=False, check_validity=False, autobatching=None)
cg()
cg_version()
cg_checkpoint()
cg_revert()
print_text_graphviz()
print_graphviz(**kwargs)
dump_cg(filename="", show_values=True, show_gradients=True, nan_check_only=False)
forward(exps, recalculate=False)
values(exps, recalculate=False)
npvalues(exps, recalculate=False)
available_devices()
get_device_info(name)
save(basename, objects)
load(basename, params)
load_generator(basename, params)
parameter(*args)
const_parameter(*args)
scalarInput(s, device="")
vecInput(dim, device="")
inputVector(v, device="")
inputTensor(arr, batched=False, device="", reusable_expr=False)
inputTensorTranspose(val, dim=None, batch_size=1, device="")
sparse_inputTensor(idxs, values, shape, batched=False, defval=0, device="")
one_hot(d, idx, device="")
matInput(d1, d2)
inputMatrix(v, d)
lookup(p, index=0, update=True)
lookup_batch(p, indices, update=True)
zeros(dim, batch_size=1)
zeroes(dim, batch_size=1)
ones(dim, batch_size=1)
constant(dim, val, batch_size=1)
random_normal(dim, mean=0., stddev=1., batch_size=1)
random_bernoulli(dim, p, scale=1.0, batch_size=1)
random_uniform(dim, left, right, batch_size=1)
random_gumbel(dim, mu=0.0, beta=1.0, batch_size=1)
circ_conv(u, v)
circ_corr(u, v)
weight_norm(w, g)
elu(x, alpha=1.0)
silu(x, beta=1.0)
scale_gradient(x, lambd=1.0)
argmax(x, gradient_mode)
round(x, gradient_mode)
ceil(x, gradient_mode)
floor(x, gradient_mode)
softmax(x, d=0)
log_softmax(x, restrict=None)
transpose(x, dims=[1, 0])
select_rows(x, rs)
select_cols(x, cs)
sum_dim(x, d, b=False, n=0)
cumsum(x, d=0)
mean_dim(x, d, b, n=0)
std_dim(x, d, b, n=0)
moment_elems(x, r)
moment_dim(x, d, r, b, n=0)
moment_batches(x, r)
fold_rows(x, nrows=2)
pairwise_rank_loss(x, y, m=1.0)
poisson_loss(log_lambda, x)
huber_distance(x, y, c=1.345)
kmax_pooling(x, k, d=1)
pickneglogsoftmax(x, v)
pickneglogsoftmax_batch(x, vs)
hinge(x, v, m=1.0)
hinge_batch(x, vs, m=1.0)
hinge_dim(x, v, d=0, m=1.0)
kmh_ngram(x, v)
pick(e, index=0, dim=0)
pick_batch(e, indices, dim=0)
pick_range(x, s, e, d=0)
pickrange(x, s, e)
pick_batch_elem(x, v)
pick_batch_elems(x, vs)
strided_select(x, strides, range_from, range_to)
noise(x, stddev)
dropout(x, p)
dropout_batch(x, p)
dropout_dim(x, d, p)
block_dropout(x, p)
reshape(x, d, batch_size=1)
max_dim(x, d=0)
min_dim(x, d=0)
logsumexp_dim(x, d=0)
conv2d(x, f, stride, is_valid=True)
conv2d_bias(x, f, b, stride, is_valid=True)
maxpooling2d(x, ksize, stride, is_valid=True)
contract3d_1d_bias(x, y, b)
contract3d_1d_1d(x, y, z)
contract3d_1d_1d_bias(x, y, z, b)
layer_norm(x, g, b)
to_device(e, device_str)
vanilla_lstm_gates(x_t, h_tm1, Wx, Wh, b, weightnoise_std=0.0)
vanilla_lstm_gates_concat(x_t, h_tm1, Wx, Wh, b, weightnoise_std=0.0)
vanilla_lstm_gates_dropout(x_t, h_tm1, Wx, Wh, b, dropout_mask_x, dropout_mask_h, weightnoise_std=0.0)
vanilla_lstm_gates_dropout_concat(x_t, h_tm1, Wx, Wh, b, dropout_mask_x, dropout_mask_h, weightnoise_std=0.0)
vanilla_lstm_c(c_tm1, gates_t)
vanilla_lstm_h(c_t, gates_t)
esum(xs)
logsumexp(xs)
average(xs)
emax(xs)
concatenate(xs, d=0)
concatenate_cols(xs)
concatenate_to_batch(xs)
affine_transform(exprs)
cwise_multiply(x, y)
vectorInput(v, device="")
"""

# Functions of one or two expressions, all with the same arguments.
ELEMENTWISE = {
    "x": """sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp square sqrt abs erf cube
    log log_sigmoid lgamma logistic rectify selu softsign sparsemax squared_norm l2_norm inverse
    logdet nobackprop flip_gradient sum_elems sum_batches mean_elems mean_batches std_elems
    std_batches""",
    "x, y": """cdiv cmult colwise_add dot_product trace_of_product squared_distance l1_distance
    binary_log_loss filter1d_narrow constrained_softmax pow bmin bmax contract3d_1d""",
}

# By class; the constructor under the name of the class.
CLASSES = {
    "ComputationGraph": """
renew(immediate_compute=False, check_validity=False, autobatching=None)
version()
forward(index)
inc_forward(index)
forward_scalar(index)
inc_forward_scalar(index)
forward_vec(index)
inc_forward_vec(index)
backward(index, full=False)
print_graphviz()
dump(filename, show_values, show_gradients, nan_check_only)
checkpoint()
revert()
inputMatrixLiteral(v, d, batch_size=1, device="")
inputSparseTensor(idxs, v, dim, batch_size=1, defval=0, device="")
""",
    "UnsignedValue": "UnsignedValue(val=0)\nset(val)\nget()",
    "FloatValue": "FloatValue(val=0)\nset(val)\nget()",
    "UnsignedVectorValue": "UnsignedVectorValue(vals)\nset(newval)\nget()\nsize()",
    "FloatVectorValue": "FloatVectorValue(vals)\nset(newval)\nget()\nsize()",
    "DynetParams": """
DynetParams()
from_args(shared_parameters=None)
from_config(conf)
set_mem(mem)
set_random_seed(random_seed)
set_autobatch(autobatch)
set_profiling(profiling)
set_weight_decay(weight_decay)
set_shared_parameters(shared_parameters)
set_requested_gpus(requested_gpus)
set_gpu_mask(gpu_mask)
set_cpu_mode()
init()
""",
    "Expression": """
dim()
value(recalculate=False)
scalar_value(recalculate=False)
vec_value(recalculate=False)
npvalue(recalculate=False)
tensor_value(recalculate=False)
gradient()
forward(recalculate=False)
backward(full=False)
__getitem__(index)
__add__
__radd__
__sub__
__rsub__
__mul__
__rmul__
__truediv__
__pow__
__neg__
""",
    "ParameterCollection": """
ParameterCollection(parent=None)
add_parameters(dim, init=None, name="", device="", scale=1.0, mean=0.0, std=1.0)
add_lookup_parameters(dim, init=None, name="", device="", scale=1.0, mean=0.0, std=1.0)
parameters_from_numpy(array, name="", device="")
lookup_parameters_from_numpy(array, name="", device="")
add_subcollection(name=None)
save(fname, name="", append=False)
populate(fname, key="")
load(fname, key="")
write_to_textfile(fname, key="", append=False)
populate_from_textfile(fname, key="")
load_param(fname, key)
load_lookup_param(fname, key)
parameters_list()
lookup_parameters_list()
name()
parameter_count()
get_weight_decay()
set_weight_decay(lam)
set_weight_decay_lambda(lam)
""",
    "Parameters": """
shape()
as_array()
grad_as_array()
set_value(arr)
zero()
scale(s)
scale_gradient(s)
clip_inplace(left, right)
is_updated()
set_updated(b)
name()
save(fname, key="", append=False)
populate(fname, key)
write_to_textfile(fname, key="", append=False)
populate_from_textfile(fname, key)
expr(update=False)
dim()
value(recalculate=False)
npvalue(recalculate=False)
gradient()
backward(full=False)
""",
    "LookupParameters": """
__getitem__(index)
batch(i)
__len__
shape()
init_from_array(arr)
init_row(i, row)
row_as_array(row)
rows_as_array(rows)
as_array()
grad_as_array()
row_grad_as_array(row)
rows_grad_as_array(rows)
scale(s)
scale_gradient(s)
zero()
is_updated()
set_updated(b)
name()
save(fname, key="", append=False)
populate(fname, key="")
write_to_textfile(fname, key="", append=False)
populate_from_textfile(fname, key="")
expr()
""",
    "PyInitializer": "",
    "NormalInitializer": "NormalInitializer(mean=0, var=1)",
    "UniformInitializer": "UniformInitializer(scale)",
    "ConstInitializer": "ConstInitializer(c)",
    "IdentityInitializer": "IdentityInitializer()",
    "GlorotInitializer": "GlorotInitializer(is_lookup=False, gain=1.0)",
    "SaxeInitializer": "SaxeInitializer(scale=1.0)",
    "FromFileInitializer": "FromFileInitializer(fname)",
    "NumpyInitializer": "NumpyInitializer(array)",
    "Tensor": """
as_numpy()
argmax(dim=0, num=1)
categorical_sample_log_prob(dim=0, num=1)
topk(dim=0, num=1)
""",
    "Trainer": """
update()
update_subset(updated_params, updated_lookups)
update_epoch(r=1.0)
restart(learning_rate=None)
status()
set_sparse_updates(su)
set_clip_threshold(thr)
get_clip_threshold()
learning_rate
set_learning_rate(value)
""",
    "SimpleSGDTrainer": "SimpleSGDTrainer(m, learning_rate=0.1)\nwhoami()",
    "CyclicalSGDTrainer": """
CyclicalSGDTrainer(m, learning_rate_min=0.01, learning_rate_max=0.1, step_size=2000, gamma=1.0)
whoami()
""",
    "MomentumSGDTrainer": "MomentumSGDTrainer(m, learning_rate=0.01, mom=0.9)\nwhoami()",
    "AdagradTrainer": "AdagradTrainer(m, learning_rate=0.1, eps=1e-20)\nwhoami()",
    "AdadeltaTrainer": "AdadeltaTrainer(m, eps=1e-6, rho=0.95)\nwhoami()",
    "RMSPropTrainer": "RMSPropTrainer(m, learning_rate=0.001, eps=1e-8, rho=0.9)\nwhoami()",
    "AdamTrainer": "AdamTrainer(m, alpha=0.001, beta_1=0.9, beta_2=0.999, eps=1e-8)\nwhoami()",
    "AmsgradTrainer": "AmsgradTrainer(m, alpha=0.001, beta_1=0.9, beta_2=0.999, eps=1e-8)\nwhoami()",
    "RNNState": """
add_input(x)
add_inputs(xs)
transduce(xs)
output()
h()
s()
prev()
b()
set_h(es=None)
set_s(es=None)
""",
    "StackedRNNState": """
StackedRNNState(states, prev=None)
add_input(x)
add_inputs(xs)
output()
h()
s()
prev()
""",
    "BiRNNBuilder": """
BiRNNBuilder(num_layers, input_dim, hidden_dim, model, rnn_builder_factory, builder_layers=None, **options)
whoami()
set_dropout(p)
disable_dropout()
add_inputs(es)
transduce(es)
param_collection()
spec
from_spec(spec, model)
""",
    "SoftmaxBuilder": """
neg_log_softmax(x, c, update=True)
neg_log_softmax_batch(x, c, update=True)
sample(x)
full_log_distribution(x, update=True)
full_logits(x, update=True)
param_collection()
""",
    "StandardSoftmaxBuilder": "StandardSoftmaxBuilder(input_dim, num_classes, pc, bias=True)",
    "ClassFactoredSoftmaxBuilder": """
ClassFactoredSoftmaxBuilder(input_dim, cluster_file, dict, pc, bias=True)
class_log_distribution(x, update=True)
class_logits(x, update=True)
subclass_log_distribution(x, classid, update=True)
subclass_logits(x, classid, update=True)
""",
    "DeviceInfo": "name\ntype\nid",
    "Saveable": "get_components()\nrestore_components(components)",
}

_BUILDER = """
set_dropout(f)
disable_dropout()
initial_state(vecs=None, update=True)
initial_state_from_raw_vectors(vecs, update=True)
param_collection()
get_parameters()
get_parameter_expressions()
whoami()
spec
from_spec(spec, model)
"""
_MASKS = "set_dropout_masks(batch_size=1)\n"
_LSTM_MASKS = "set_dropouts(d, d_r)\n" + _MASKS
_SIZES = "(layers, input_dim, hidden_dim, model)\n"
_OPTIONS = "(layers, input_dim, hidden_dim, model, ln_lstm=False, forget_bias=1.0)\n"
CLASSES |= {
    "SimpleRNNBuilder": "SimpleRNNBuilder" + _SIZES + _BUILDER + "set_dropouts(d, d_h)\n" + _MASKS,
    "GRUBuilder": "GRUBuilder(layers, input_dim, hidden_dim, model, reset_after=False)\n"
    + _BUILDER,
    "CoupledLSTMBuilder": "CoupledLSTMBuilder" + _SIZES + _BUILDER,
    "VanillaLSTMBuilder": "VanillaLSTMBuilder" + _OPTIONS + _BUILDER + _LSTM_MASKS,
    "SparseLSTMBuilder": "SparseLSTMBuilder"
    + _OPTIONS
    + _BUILDER
    + _LSTM_MASKS
    + "set_sparsity(sparsity)",
    "CompactVanillaLSTMBuilder": "CompactVanillaLSTMBuilder"
    + _SIZES
    + _BUILDER
    + _LSTM_MASKS
    + "set_weightnoise(std)",
    "FastLSTMBuilder": "FastLSTMBuilder" + _SIZES + _BUILDER,
}

# Another name of the same thing; the LSTM's depends on an option.
ALIASES = {"Model": "ParameterCollection", "model": "ParameterCollection"}

CONSTANTS = ["HAVE_CUDA", "__version__", "__gitversion__", "LSTMBuilder", "dynet_config"]
# Names that `from dynet import *` has left in programs since 2.x.
LEAKED = ["np", "sys", "os", "pickle"]
CONFIG = """
set(mem="512", random_seed=0, autobatch=0, profiling=0, weight_decay=0, shared_parameters=0, requested_gpus=0, gpu_mask=None)
set_gpu(flag=True)
gpu()
get()
"""
