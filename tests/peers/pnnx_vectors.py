"""Writes torch's results for small models, and PNNX's exports of them, to `tests/it/pnnx/vectors.txt`.

Needs torch, torchvision and pnnx from PyPI: python tests/peers/pnnx_vectors.py > tests/it/pnnx/vectors.txt
"""
import pathlib
import subprocess
import tempfile
import warnings
import zipfile

import numpy as np
import pnnx
import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision

warnings.filterwarnings("ignore")
torch.manual_seed(0)
R = lambda *s: (torch.randn(*s) * 8).round() / 8
I = lambda hi, *s: torch.randint(0, hi, s)
inf = float("inf")
class Fn(nn.Module):
    def __init__(self, f): super().__init__(); self.f = f
    def forward(self, *a): return self.f(*a)
C = []
def fn(name, f, *inputs): C.append((name, Fn(f), inputs))
def mod(name, m, *inputs): C.append((name, m.eval(), inputs))
x23, x234, x2345 = R(2,3), R(2,3,4), R(2,3,4,5)
m23 = torch.tensor([[True,False,True],[False,False,True]])
fn("masked_fill_inf", lambda x, m: x.masked_fill(m, -inf), x23, m23)
fn("masked_fill_posinf", lambda x, m: x.masked_fill(m, inf), x23, m23)
fn("masked_fill_nan", lambda x, m: x.masked_fill(m, float("nan")), x23, m23)
fn("masked_fill_int", lambda x, m: x.masked_fill(m, -3), I(9,2,3), m23)
fn("where_inf", lambda x, m: torch.where(m, x, -inf), x23, m23)
fn("clamp_inf", lambda x: torch.clamp(x, min=-inf, max=inf)+1, x23)
fn("causal", lambda x: torch.softmax(torch.full((3,3), -inf).triu(1) + x, -1), R(3,3))
fn("full_inf", lambda x: x + torch.full((3,), inf), x23)
class MHA(nn.Module):
    def __init__(s, bf, bias=True):
        super().__init__(); s.m = nn.MultiheadAttention(4, 2, batch_first=bf, bias=bias)
    def forward(s, q, m): return s.m(q, q, q, attn_mask=m, need_weights=False)[0]
mod("mha_mask3", MHA(True), R(2,3,4), R(4,3,3))
mod("mha_mask3_bool", MHA(True), R(2,3,4), torch.rand(4,3,3) > 0.8)
mod("mha_mask2", MHA(True), R(2,3,4), R(3,3))
for nm, mask in (("2", R(3,3)), ("3", R(2,3,3)), ("4", R(2,2,3,3)), ("bool", torch.rand(3,3) > 0.3)):
    fn("sdpa_mask"+nm, lambda q,k,v,m: F.scaled_dot_product_attention(q,k,v,attn_mask=m), R(2,2,3,4), R(2,2,3,4), R(2,2,3,4), mask if nm!="3" else R(2,1,3,3))
fn("sdpa_mask_rank3", lambda q,k,v,m: F.scaled_dot_product_attention(q,k,v,attn_mask=m), R(4,3,4), R(4,3,4), R(4,3,4), R(4,3,3))
fn("sdpa_causal", lambda q,k,v: F.scaled_dot_product_attention(q,k,v,is_causal=True), R(2,2,3,4), R(2,2,5,4), R(2,2,5,4))
fn("sdpa_gqa", lambda q,k,v: F.scaled_dot_product_attention(q,k,v,enable_gqa=True), R(2,4,3,4), R(2,2,3,4), R(2,2,3,4))
fn("index_bool", lambda x, m: x[m], x23, m23)
fn("index_bool_rows", lambda x, m: x[m], x234, torch.tensor([True, False]))
fn("index_bool_two", lambda x, m: x[m], x234, m23)
fn("index_bool_col", lambda x, m: x[:, m], x234, torch.tensor([True, False, True]))
fn("index_bool_self", lambda x: x[x > 0], x23)
fn("index_int", lambda x, i: x[i], x23, torch.tensor([[1,0],[-1,1]]))
fn("index_int_col", lambda x, i: x[:, i], x234, torch.tensor([2,0,-1,1]))
fn("index_pair", lambda x, i, j: x[i, j], x234, torch.tensor([1,0,1]), torch.tensor([2,0,-1]))
fn("index_apart", lambda x, i, j: x[i, :, j], x234, torch.tensor([1,0,1]), torch.tensor([2,0,-1]))
for mode in ("nearest", "bilinear", "bicubic"):
    fn("interp_size_"+mode, lambda x, mode=mode: F.interpolate(x, size=(7,6), mode=mode), R(1,2,4,5))
fn("interp_size_align", lambda x: F.interpolate(x, size=(7,6), mode="bilinear", align_corners=True), R(1,2,4,5))
fn("interp_size_1d", lambda x: F.interpolate(x, size=7, mode="linear"), R(1,2,4))
fn("interp_scale_bicubic", lambda x: F.interpolate(x, scale_factor=(1.5,2.0), mode="bicubic"), R(1,2,4,5))
fn("interp_scale_recompute", lambda x: F.interpolate(x, scale_factor=(1.3,2.0), mode="bilinear", recompute_scale_factor=True), R(1,2,4,5))
fn("interp_dynamic", lambda x, y: F.interpolate(x, size=y.shape[2:], mode="nearest"), R(1,2,4,5), R(1,2,6,7))
fn("arange_int", lambda x: x + torch.arange(3), x23)
fn("arange_int_only", lambda x: (torch.arange(1, 10, 3), x), x23)
fn("arange_size", lambda x: torch.arange(x.size(1)) * 2 , x23)
fn("arange_size2", lambda x: torch.arange(x.size(0), x.size(1)) , x23)
fn("arange_float", lambda x: (torch.arange(0.5, 3.0, 0.75), x), x23)
fn("arange_dtype", lambda x: (torch.arange(4, dtype=torch.float32), x), x23)
fn("addmm", lambda b,x,y: torch.addmm(b,x,y), R(4), R(2,3), R(3,4))
fn("addmm_ab", lambda b,x,y: torch.addmm(b,x,y,beta=0.5,alpha=2), R(2,4), R(2,3), R(3,4))
fn("addmm_int", lambda b,x,y: torch.addmm(b,x,y,beta=2,alpha=3), I(9,2,4), I(9,2,3), I(9,3,4))
fn("baddbmm", lambda b,x,y: torch.baddbmm(b,x,y,beta=0.5,alpha=2), R(2,2,4), R(2,2,3), R(2,3,4))
fn("addbmm", lambda b,x,y: torch.addbmm(b,x,y,beta=0.5,alpha=2), R(2,4), R(2,2,3), R(2,3,4))
fn("addmv", lambda b,x,y: torch.addmv(b,x,y), R(2), R(2,3), R(3))
fn("rrelu", lambda x: F.rrelu(x, 0.1, 0.3), x23)
mod("rrelu_layer", nn.RReLU(), x23)
for mode in ("bilinear","nearest","bicubic"):
    for pad in ("zeros","border","reflection"):
        if (mode, pad) == ("bicubic", "border"):
            continue  # the operator clamps the position, torch each element of the kernel
        fn(f"grid_sample_{mode}_{pad}", lambda x,g,mode=mode,pad=pad: F.grid_sample(x,g,mode=mode,padding_mode=pad,align_corners=(pad=="border")), R(1,2,4,5), R(1,3,3,2)*0.7)
fn("grid_sample_3d", lambda x,g: F.grid_sample(x,g,align_corners=False), R(1,2,3,4,5), R(1,2,2,2,3)*0.7)
fn("affine_grid", lambda t: F.affine_grid(t, (1,2,3,4), align_corners=False), R(1,2,3))
fn("affine_grid_align", lambda t: F.affine_grid(t, (2,2,3,4), align_corners=True), R(2,2,3))
fn("affine_grid_3d", lambda t: F.affine_grid(t, (1,1,2,3,2), align_corners=False), R(1,3,4))
fn("scatter_add", lambda x,i,s: torch.scatter_add(x,-1,i,s), x23, I(3,2,4), R(2,4))
fn("scatter_add0", lambda x,i,s: x.scatter_add(0,i,s), x23, I(2,1,3), R(2,3))
fn("scatter", lambda x,i,s: x.scatter(1,i,s), x23, torch.tensor([[0,2],[1,0]]), R(2,2))
fn("scatter_value", lambda x,i: x.scatter(1,i,1.5), x23, torch.tensor([[0,2],[1,0]]))
fn("scatter_reduce", lambda x,i,s: x.scatter_reduce(1,i,s,reduce="amax"), x23, torch.tensor([[0,2],[1,0]]), R(2,2))
fn("index_add", lambda x,i,s: torch.index_add(x,1,i,s), x234, torch.tensor([0,2,0,1]), R(2,4,4))
fn("index_add_alpha", lambda x,i,s: torch.index_add(x,-1,i,s,alpha=2), x234, torch.tensor([0,2]), R(2,3,2))
fn("index_fill", lambda x,i: x.index_fill(1,i,2.0), x234, torch.tensor([0,2]))
fn("index_copy", lambda x,i,s: x.index_copy(1,i,s), x234, torch.tensor([0,2]), R(2,2,4))
fn("masked_scatter", lambda x,m,s: x.masked_scatter(m,s), x23, m23, R(6))
fn("istft", lambda x: torch.istft(torch.stft(x, 8, 2, window=torch.hann_window(8), return_complex=True), 8, 2, window=torch.hann_window(8)), R(2,32))
fn("istft_plain", lambda x: torch.istft(torch.view_as_complex(x), 8, 4, 6, window=torch.hamming_window(6), center=True, length=20), R(5,6,2))
fn("istft_norm", lambda x: torch.istft(torch.view_as_complex(x), 8, 2, window=torch.hann_window(8), normalized=True), R(2,5,6,2))
fn("istft_twosided", lambda x: torch.istft(torch.view_as_complex(x), 8, 2, window=torch.hann_window(8), onesided=False), R(8,6,2))
boxes = torch.tensor([[0,0.,0,3,3],[0,1,0.5,2.5,3.5]])
mod("roi_align", torchvision.ops.RoIAlign((2,2), 0.5, 2, aligned=False), R(1,2,4,5), boxes)
mod("roi_align_aligned", torchvision.ops.RoIAlign((2,3), 1.0, -1, aligned=True), R(1,2,4,5), boxes)
fn("roi_align_fn", lambda x,b: torchvision.ops.roi_align(x,b,2,0.5), R(1,2,4,5), boxes)
fn("normalize", lambda x: F.normalize(x), x234)
fn("normalize_p1", lambda x: F.normalize(x, p=1.0, dim=-1, eps=1e-6), x234)
fn("normalize_p3", lambda x: F.normalize(x, p=3.0, dim=0), x234)
fn("normalize_zero", lambda x: F.normalize(x*0, dim=1), x234)
fn("normalize_inf", lambda x: F.normalize(x, p=inf, dim=1), x234)
fn("lrn", lambda x: F.local_response_norm(x, 3, 1e-2, 0.75, 2.0), R(2,5,3,3))
mod("lrn_layer", nn.LocalResponseNorm(2, 1e-2), R(2,5,3,3))
mod("lrn_layer_1d", nn.LocalResponseNorm(4, 1e-2, 0.5, 1.5), R(2,5,3))
for d in (1,2,3):
    fn(f"lp_pool{d}d", lambda x,d=d: getattr(F, f"lp_pool{d}d")(x, 2.0, 2), R(*([1,2]+[5]*d)).abs())
mod("lp_pool1d_layer", nn.LPPool1d(3, 2, stride=1), R(1,2,6).abs())
mod("lp_pool2d_layer", nn.LPPool2d(1.5, (2,3), stride=2, ceil_mode=True), R(1,2,6,7).abs())
mod("lp_pool3d_layer", nn.LPPool3d(2, 2), R(1,2,4,4,4))
fn("pairwise", lambda x,y: F.pairwise_distance(x,y), R(3,4), R(3,4))
fn("pairwise_p", lambda x,y: F.pairwise_distance(x,y,p=1.0,eps=1e-3,keepdim=True), R(3,4), R(3,4))
mod("pairwise_layer", nn.PairwiseDistance(3.0), R(3,4), R(4))
fn("cdist", lambda x,y: torch.cdist(x,y), R(3,4), R(2,4))
fn("unflatten", lambda x: x.unflatten(1, (2,3)), R(2,6,4))
fn("unflatten_neg", lambda x: torch.unflatten(x, -1, (-1,2)), R(2,6,4))
mod("unflatten_layer", nn.Unflatten(1, (2,3)), R(2,6,4))
fn("topk", lambda x: torch.topk(x, 2), torch.randperm(24).reshape(2,3,4) / 4)
fn("topk_dim", lambda x: torch.topk(x, 2, dim=1, largest=False), x234)
fn("topk_values", lambda x: torch.topk(x, 2, 0)[0], x234)
fn("topk_indices", lambda x: torch.topk(x, 1, -1)[1], x234)
fn("topk_i", lambda x: torch.topk(x, 2), torch.tensor([[3,9,1],[5,4,8]]))
fn("argsort", lambda x: torch.argsort(x), x234)
fn("argsort_dim", lambda x: torch.argsort(x, dim=1, descending=True), x234)
fn("sort", lambda x: torch.sort(x, 1), x234)
fn("sort_stable", lambda x: torch.sort(x, dim=-1, descending=True, stable=True), x234)
fn("addcmul", lambda x,a,b: torch.addcmul(x,a,b,value=0.5), x23, R(2,3), R(3))
fn("addcdiv", lambda x,a,b: torch.addcdiv(x,a,b), x23, R(2,3), R(3)+9)
fn("addcmul_i", lambda x,a,b: torch.addcmul(x,a,b,value=2), I(9,2,3), I(9,2,3), I(9,3))
fn("tril", lambda x: torch.tril(x), x234)
fn("tril_d", lambda x: torch.tril(x, -1), x234)
fn("triu", lambda x: torch.triu(x, diagonal=1), x234)
fn("triu_bool", lambda x: torch.triu(torch.ones(3,3,dtype=torch.bool), 1) & (x>0), R(3,3))
fn("triu_method", lambda x: x.triu(1), x23)
fn("masked_select", lambda x,m: torch.masked_select(x,m), x23, m23)
fn("masked_select_b", lambda x,m: torch.masked_select(x,m), x23, torch.tensor([True,False,True]))
fn("nonzero", lambda x: torch.nonzero(x), m23)
fn("nonzero_f", lambda x: torch.nonzero(x), torch.tensor([0,1.5,0,-2]))
fn("nonzero_tuple", lambda x: torch.nonzero(x, as_tuple=True), m23)
fn("full_like", lambda x: torch.full_like(x, 2.5), x23)
fn("full_like_inf", lambda x: torch.full_like(x, -inf), x23)
fn("full_like_dtype", lambda x: torch.full_like(x, 2, dtype=torch.int64), x23)
fn("empty_like", lambda x: torch.empty_like(x).fill_(1), x23)
fn("empty_like_s", lambda x: torch.empty_like(x) * 0 == x, x23)
fn("std_mean", lambda x: torch.std_mean(x, dim=1), x234)
fn("std_mean_all", lambda x: torch.std_mean(x), x234)
fn("var_mean", lambda x: torch.var_mean(x, dim=(0,2), keepdim=True, unbiased=False), x234)
fn("var_mean_c", lambda x: torch.var_mean(x, dim=-1, correction=0), x234)
for n in ("fft","ifft"):
    fn(n+"_real", lambda x,n=n: torch.view_as_real(getattr(torch.fft,n)(x).resolve_conj()), x23)
    fn(n+"_cplx", lambda x,n=n: torch.view_as_real(getattr(torch.fft,n)(torch.view_as_complex(x), dim=0)), R(3,4,2))
    fn(n+"_n", lambda x,n=n: torch.view_as_real(getattr(torch.fft,n)(x, n=5, dim=1, norm="ortho").resolve_conj()), R(2,4,3))
    fn(n+"_short", lambda x,n=n: torch.view_as_real(getattr(torch.fft,n)(x, n=3, norm="forward").resolve_conj()), R(2,4))
fn("rfft", lambda x: torch.view_as_real(torch.fft.rfft(x)), R(2,5))
fn("rfft_n", lambda x: torch.view_as_real(torch.fft.rfft(x, n=6, dim=0, norm="ortho")), R(4,3))
fn("irfft", lambda x: torch.fft.irfft(torch.view_as_complex(x)), R(3,4,2))
fn("irfft_n", lambda x: torch.fft.irfft(torch.view_as_complex(x), n=5, norm="ortho"), R(3,4,2))
fn("hfft", lambda x: torch.fft.hfft(torch.view_as_complex(x)), R(3,4,2))
fn("fft2", lambda x: torch.view_as_real(torch.fft.fft2(x)), R(2,3,4))
fn("ifft2", lambda x: torch.view_as_real(torch.fft.ifft2(torch.view_as_complex(x), norm="ortho")), R(2,3,4,2))
fn("rfft2", lambda x: torch.view_as_real(torch.fft.rfft2(x)), R(2,3,4))
fn("irfft2", lambda x: torch.fft.irfft2(torch.view_as_complex(x), s=(3,5)), R(2,3,4,2))
fn("fftn", lambda x: torch.view_as_real(torch.fft.fftn(x)), R(2,3,4))
fn("ifftn", lambda x: torch.view_as_real(torch.fft.ifftn(x, dim=(0,2))), R(2,3,4))
fn("rfftn", lambda x: torch.view_as_real(torch.fft.rfftn(x)), R(2,3,4))
fn("irfftn", lambda x: torch.fft.irfftn(torch.view_as_complex(x)), R(2,3,4,2))
fn("fft_abs", lambda x: torch.abs(torch.fft.fft(x)), R(2,6))
fn("fftshift", lambda x: torch.fft.fftshift(x, dim=-1), R(2,5))
fn("ifftshift", lambda x: torch.fft.ifftshift(x), R(2,5))
fn("rot90", lambda x: torch.rot90(x, 1, (0,1)), x234)
fn("rot90_2", lambda x: torch.rot90(x, 2, [1,2]), x234)
fn("rot90_3", lambda x: torch.rot90(x, -1, [-1,0]), x234)
fn("diff", lambda x: torch.diff(x), x234)
fn("diff_n", lambda x: torch.diff(x, n=2, dim=1), x234)
fn("diff_pre", lambda x,p: torch.diff(x, dim=1, prepend=p), x234, R(2,1,4))
fn("diff_app", lambda x,p,a: torch.diff(x, dim=-1, prepend=p, append=a), x234, R(2,3,1), R(2,3,2))
fn("kthvalue", lambda x: torch.kthvalue(x, 2, dim=1), x234)
fn("kthvalue_k", lambda x: torch.kthvalue(x, 3, -1, True), x234)
fn("median", lambda x: torch.median(x), x234)
fn("median_dim", lambda x: torch.median(x, dim=1), x234)
fn("median_keep", lambda x: torch.median(x, -1, True), R(3,4))
fn("median_nan", lambda x: torch.median(x, -1), torch.tensor([[1.,float("nan"),0],[3.,1,2]]))
fn("unique", lambda x: torch.unique(x), I(4,2,5))
fn("unique_inv", lambda x: torch.unique(x, return_inverse=True, return_counts=True), I(4,2,5))
fn("unique_dim", lambda x: torch.unique(x, dim=1, return_counts=True), I(2,2,5))
mod("deform", torchvision.ops.DeformConv2d(4, 6, 3, padding=1, groups=2), R(1,4,4,4), R(1,18,4,4)*0.5)
mod("deform_mask", torchvision.ops.DeformConv2d(4, 2, (3,2), stride=2, dilation=1, bias=False), R(1,4,5,5), R(1,12,2,2)*0.5, torch.rand(1,6,2,2))
bx = torch.tensor([[0,0,4,4],[0.5,0,4,4.5],[5,5,8,8],[5,5,8,7.5],[0,0,1,1.]])
fn("nms", lambda b,s: torchvision.ops.nms(b,s,0.5), bx, torch.tensor([0.3,0.9,0.5,0.8,0.1]))
class Cell(nn.Module):
    def __init__(s, c): super().__init__(); s.c = c
    def forward(s, x, h, c): return s.c(x, (h, c))
mod("lstmcell", Cell(nn.LSTMCell(3,4)), R(2,3), R(2,4), R(2,4))
mod("grucell", nn.GRUCell(3,4), R(2,3), R(2,4))
mod("grucell_1d", nn.GRUCell(3,4), R(3), R(4))
mod("rnncell", nn.RNNCell(3,4,nonlinearity="relu"), R(2,3), R(2,4))
mod("rnncell_tanh", nn.RNNCell(3,4), R(2,3), R(2,4))
mod("bilinear", nn.Bilinear(3,4,2), R(5,3), R(5,4))
mod("bilinear_b", nn.Bilinear(3,4,2,bias=False), R(2,5,3), R(2,5,4))
mod("cosine", nn.CosineSimilarity(), R(2,3,4), R(2,3,4))
mod("cosine_d", nn.CosineSimilarity(dim=-1, eps=1e-6), R(2,3), R(3))
fn("cosine_f", lambda a,b: F.cosine_similarity(a,b,dim=0), R(2,3), R(2,3))
fn("maskedsum", lambda x: torch.sum(x, dim=1), I(9,2,3).int())
fn("sum_dtype", lambda x: torch.sum(x, dim=1, dtype=torch.float64), x23)
fn("cumsum_i", lambda x: torch.cumsum(x, 1), I(9,2,3).int())
fn("cumsum_bool", lambda x: torch.cumsum(x, 1), m23)
fn("sum_bool", lambda x: x.sum(), m23)
fn("softmax_dtype", lambda x: F.softmax(x, -1, dtype=torch.float64), x23)
fn("one_hot", lambda x: F.one_hot(x, 5), I(5,2,3))
fn("outer", lambda x,y: torch.outer(x,y), R(3), R(2))
fn("isinf", lambda x: torch.isinf(x/0), x23)
fn("lerp", lambda x,y: torch.lerp(x,y,0.25), x23, R(2,3))
fn("dot", lambda a,b: torch.dot(a,b), R(3), R(3))
fn("take_along", lambda x,i: torch.take_along_dim(x,i,1), x23, I(3,2,2))

# The exporter writes layers by name only if they are parts of other layers.
class Wrap(nn.Module):
    def __init__(s, m): super().__init__(); s.layer = m
    def forward(s, *a): return s.layer(*a)
class Wrap2(nn.Module):
    def __init__(s, m): super().__init__(); s.layer = m
    def forward(s, x, h, c): return s.layer(x, (h, c))
W = {}
for (name, m, inputs) in list(C):
    if isinstance(m, Fn) or isinstance(m, MHA): continue
    if name == "lstmcell": C.append(("w_"+name, Wrap2(m.c).eval(), inputs))
    else: C.append(("w_"+name, Wrap(m).eval(), inputs))
fn("ihfft", lambda x: torch.view_as_real(torch.fft.ihfft(x).resolve_conj()), R(3,4))
C.append(("index_bool_dyn", Fn(lambda x: x[x > 0] * 2), (R(4,3),)))

# Layers that exporters keep on request: lines written by hand, with the weights of torch's layers.
HAND = []


def hand(name, kind, params, layer, inputs, call=None):
    layer = layer.eval()
    HAND.append((name, kind, params, layer, inputs, call or layer))


lstm, gru, rnn = nn.LSTMCell(3, 4), nn.GRUCell(3, 4), nn.RNNCell(3, 4, nonlinearity="relu")
hand("hand_lstmcell", "nn.LSTMCell", "bias=True hidden_size=4 input_size=3", lstm, (R(2, 3), R(2, 4), R(2, 4)), lambda x, h, c: lstm(x, (h, c)))
hand("hand_lstmcell_alone", "nn.LSTMCell", "bias=True hidden_size=4 input_size=3", lstm, (R(2, 3),))
hand("hand_grucell", "nn.GRUCell", "bias=True hidden_size=4 input_size=3", gru, (R(2, 3), R(2, 4)))
hand("hand_grucell_row", "nn.GRUCell", "bias=True hidden_size=4 input_size=3", gru, (R(3), R(4)))
hand("hand_rnncell", "nn.RNNCell", "bias=True hidden_size=4 input_size=3 nonlinearity=relu", rnn, (R(2, 3),))
hand("hand_bilinear", "nn.Bilinear", "bias=True in1_features=3 in2_features=4 out_features=2", nn.Bilinear(3, 4, 2), (R(5, 3), R(5, 4)))
hand("hand_cosine", "nn.CosineSimilarity", "dim=1 eps=1.000000e-8", nn.CosineSimilarity(), (R(2, 3), R(2, 3)))
hand("hand_pairwise", "nn.PairwiseDistance", "eps=1.000000e-6 keepdim=True p=1.0", nn.PairwiseDistance(1.0, keepdim=True), (R(2, 3), R(2, 3)))
hand("hand_unflatten", "nn.Unflatten", "dim=1 unflattened_size=(2,3)", nn.Unflatten(1, (2, 3)), (R(2, 6),))
hand("hand_arange", "torch.arange", "dtype=None end=7 start=1 step=2", Fn(lambda x: torch.arange(1, 7, 2)), (R(2),))
hand("hand_full_like", "torch.full_like", "dtype=None fill_value=-inf", Fn(lambda x: torch.full_like(x, -inf)), (R(2, 3),))
hand("hand_empty_like", "torch.empty_like", "dtype=torch.int64", Fn(lambda x: torch.zeros_like(x, dtype=torch.int64)), (R(2, 3),))
hand("hand_std_mean", "torch.std_mean", "dim=(1) keepdim=True unbiased=False", Fn(lambda x: torch.std_mean(x, 1, False, keepdim=True)), (R(2, 3),))
hand("hand_unique", "torch.unique", "dim=None return_counts=True return_inverse=False sorted=True", Fn(lambda x: torch.unique(x, return_counts=True)), (I(4, 2, 3),))
hand("hand_sum", "torch.sum", "dim=(1) keepdim=False dtype=torch.float64", Fn(lambda x: torch.sum(x, 1, dtype=torch.float64)), (R(2, 3),))
hand("hand_nearest_exact", "F.interpolate", "mode=nearest-exact size=(7,6)", Fn(lambda x: F.interpolate(x, size=(7, 6), mode="nearest-exact")), (R(1, 1, 4, 5),))
hand("hand_transform", "torch.fft_rfft", "dim=-1 n=None norm=None", Fn(lambda x: torch.fft.rfft(x)), (R(2, 6),))


NAMES = {torch.float32: "f32", torch.float64: "f64", torch.int64: "i64", torch.int32: "i32", torch.bool: "bool", torch.complex64: "c64"}
KINDS = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "i32": np.int32, "bool": np.bool_}


def number(v, kind):
    if kind == "bool":
        return "1" if v else "0"
    return np.format_float_positional(v, unique=True, trim="-") if kind in ("f32", "f64") else str(v)


def told(a, kind):
    a = np.asarray(a)
    extents = ",".join(map(str, a.shape))
    return " ".join([f"{kind}[{extents}]"] + [number(v, kind) for v in a.reshape(-1)])


def tensor(t):
    if t.is_complex():
        t = torch.view_as_real(t.resolve_conj())
    return told(t.detach().numpy(), NAMES[t.dtype])


def flat(r):
    return [t for x in r for t in flat(x)] if isinstance(r, (tuple, list)) else [r]


def shown(name, lines, members, inputs, results):
    print(f"case {name}")
    for line in lines:
        print("line", " ".join(line.split()))
    for member, text in members:
        print("member", member, text)
    for t in inputs:
        print("in", tensor(t))
    for t in flat(results):
        print("out", tensor(t))


def declared(t):
    return "(" + ",".join(map(str, t.shape)) + ")" + NAMES[t.dtype]


def exported(folder, name, module, inputs):
    path = folder / f"{name}.pt"
    with torch.no_grad():
        torch.jit.trace(module.eval(), inputs, check_trace=False).save(str(path))
    shapes = ",".join("[" + ",".join(map(str, t.shape)) + "]" + NAMES[t.dtype] for t in inputs)
    subprocess.run([pnnx.EXEC_PATH, path.name, f"inputshape={shapes}"], cwd=folder, capture_output=True, timeout=600)
    lines = (folder / f"{name}.pnnx.param").read_text().splitlines()[2:]
    members = []
    with zipfile.ZipFile(folder / f"{name}.pnnx.bin") as archive:
        for line in lines:
            words = line.split()
            for word in words:
                if word.startswith("@"):
                    key, ty = word[1:].split("=", 1)
                    extents, kind = ty[1:].split(")")
                    member = f"{words[1]}.{key}"
                    data = np.frombuffer(archive.read(member), KINDS[kind])
                    members.append((member, told(data.reshape([int(n) for n in extents.split(",") if n]), kind)))
    return lines, members


def main():
    with tempfile.TemporaryDirectory() as folder:
        seen = set()
        for name, module, inputs in C:
            lines, members = exported(pathlib.Path(folder), name, module, inputs)
            # A layer inside another may be written like a top-level one.
            key = tuple(" ".join(line.split()) for line in lines if name.removeprefix("w_") not in line)
            if name.startswith("w_") and not any(f" layer " in line and line.split()[0] != "pnnx.Attribute" for line in lines):
                continue
            if key in seen:
                continue
            seen.add(key)
            with torch.no_grad():
                shown(name, lines, members, inputs, module(*inputs))
        for name, kind, params, layer, inputs, call in HAND:
            with torch.no_grad():
                results = flat(call(*inputs))
            names = [str(i) for i in range(len(inputs))]
            outs = [str(len(inputs) + i) for i in range(len(results))]
            weights = list(layer.named_parameters())
            lines = [f"pnnx.Input pnnx_input_{i} 0 1 {i} #{i}={declared(t)}" for i, t in enumerate(inputs)]
            attributes = " ".join(f"@{key}={declared(w)}" for key, w in weights)
            wide = inputs if kind != "torch.arange" else ()
            lines.append(" ".join([kind, "layer", str(len(wide)), str(len(outs)), *names[: len(wide)], *outs, params, attributes]))
            last = outs[0]
            if len(outs) > 1:
                last = "9"
                lines.append(f"prim::TupleConstruct t {len(outs)} 1 {' '.join(outs)} 9")
            lines.append(f"pnnx.Output o 1 0 {last}")
            members = [(f"layer.{key}", tensor(w)) for key, w in weights]
            shown(name, lines, members, inputs, results)


if __name__ == "__main__":
    main()
