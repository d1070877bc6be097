"""The architectures of corpus.py: tiny models with random weights, made from configurations, and their inputs.

Each function returns a module with plain tensors as inputs and results, a dictionary of example inputs, and the names
of the axes that stay dynamic. Weights are random everywhere: fresh biases of zero and scales of one would be folded
away, which no trained model allows.
"""

import torch
import transformers
from torch import nn

BATCH, LENGTH = 2, 7


class Outputs(nn.Module):
    """Calls a model with named inputs and returns the named results as a tuple."""

    def __init__(self, model, names, results, **fixed):
        super().__init__()
        self.model, self.names, self.results, self.fixed = model, names, results, fixed

    def forward(self, *values):
        made = self.model(**dict(zip(self.names, values)), **self.fixed)
        return tuple(made[name] for name in self.results)


def randomized(module, seed=0):
    """The module in evaluation mode with every parameter random: scales about one, the others about zero."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in module.named_parameters():
            if value.is_floating_point():
                noise = torch.randn(value.shape, generator=generator) * 0.1
                norm = value.ndim == 1 and name.endswith("weight")
                value.copy_(noise + 1 if norm else noise)
        for name, value in module.named_buffers():
            if name.endswith("running_var"):
                value.copy_(torch.rand(value.shape, generator=generator) + 0.5)
    return module.eval()


def tokens(limit=90, batch=BATCH, length=LENGTH):
    return torch.randint(3, limit, (batch, length), generator=torch.Generator().manual_seed(1))


def mask(batch=BATCH, length=LENGTH):
    made = torch.ones(batch, length, dtype=torch.int64)
    made[0, -2:] = 0
    return made


SEQUENCE = {0: "batch", 1: "length"}


def of_text(model, results=("last_hidden_state",), masked=True, **fixed):
    """A model of token ids and, unless `masked` is false, a mask of the padded places."""
    names = ["input_ids", "attention_mask"] if masked else ["input_ids"]
    inputs = {"input_ids": tokens(), "attention_mask": mask()}
    inputs = {name: inputs[name] for name in names}
    return Outputs(randomized(model), names, results, **fixed), inputs, {name: SEQUENCE for name in names}


def of_images(model, results=("last_hidden_state",), size=32, channels=3, **fixed):
    """A model of images of one size, with a dynamic batch."""
    image = torch.randn(BATCH, channels, size, size, generator=torch.Generator().manual_seed(2))
    return Outputs(randomized(model), ["pixel_values"], results, **fixed), {"pixel_values": image}, {
        "pixel_values": {0: "batch"}
    }


ENCODER = dict(
    vocab_size=96, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
    max_position_embeddings=64,
)
DECODER = dict(ENCODER, use_cache=False, pad_token_id=0, bos_token_id=1, eos_token_id=2)
GROUPED = dict(DECODER, num_key_value_heads=2)


def encoder(name, attention="sdpa", **more):
    config = getattr(transformers, name + "Config")(**{**ENCODER, **more}, attn_implementation=attention)
    return of_text(getattr(transformers, name + "Model")(config))


def decoder(name, attention="sdpa", masked=True, **more):
    config = getattr(transformers, name + "Config")(**{**GROUPED, **more}, attn_implementation=attention)
    made = getattr(transformers, name + "ForCausalLM")(config)
    return of_text(made, results=("logits",), masked=masked, use_cache=False)


def distilbert():
    config = transformers.DistilBertConfig(
        vocab_size=96, dim=32, n_layers=2, n_heads=4, hidden_dim=64, max_position_embeddings=64
    )
    return of_text(transformers.DistilBertModel(config))


def gpt2(attention="sdpa", masked=True):
    config = transformers.GPT2Config(
        vocab_size=96, n_embd=32, n_layer=2, n_head=4, n_positions=64, attn_implementation=attention
    )
    return of_text(transformers.GPT2LMHeadModel(config), ("logits",), masked=masked, use_cache=False)


def with_past(name, **more):
    """One step of generation: keys and values of the past are inputs, those of past and present are results."""

    class Step(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask, *past):
            cache = transformers.DynamicCache()
            for layer in range(len(past) // 2):
                cache.update(past[2 * layer], past[2 * layer + 1], layer)
            made = self.model(input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True)
            layers = made.past_key_values.layers
            return (made.logits, *(tensor for layer in layers for tensor in (layer.keys, layer.values)))

    config = getattr(transformers, name + "Config")(**{**GROUPED, "use_cache": True, **more})
    heads = getattr(config, "num_key_value_heads", config.num_attention_heads)
    inputs = {"input_ids": tokens(length=1), "attention_mask": torch.ones(BATCH, 6, dtype=torch.int64)}
    axes = {"input_ids": {0: "batch"}, "attention_mask": {0: "batch", 1: "total"}}
    for layer in range(2):
        for part in ("key", "value"):
            inputs[f"past_{part}_{layer}"] = torch.randn(BATCH, heads, 5, 8)
            axes[f"past_{part}_{layer}"] = {0: "batch", 2: "past"}
    return Step(randomized(getattr(transformers, name + "ForCausalLM")(config))), inputs, axes


def two_texts(model):
    names = ["input_ids", "attention_mask", "decoder_input_ids"]
    inputs = {"input_ids": tokens(), "attention_mask": mask(), "decoder_input_ids": tokens(length=5)}
    axes = {name: SEQUENCE for name in names[:2]}
    axes["decoder_input_ids"] = {0: "batch", 1: "target"}
    return Outputs(randomized(model), names, ("logits",), use_cache=False), inputs, axes


def t5(gated=False):
    config = transformers.T5Config(
        vocab_size=96, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0,
        feed_forward_proj="gated-gelu" if gated else "relu",
    )
    return two_texts(transformers.T5ForConditionalGeneration(config))


SIDES = dict(
    d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
    encoder_ffn_dim=64, decoder_ffn_dim=64, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=2,
)


def bart():
    config = transformers.BartConfig(vocab_size=96, max_position_embeddings=64, forced_eos_token_id=2, **SIDES)
    return two_texts(transformers.BartForConditionalGeneration(config))


def whisper():
    config = transformers.WhisperConfig(
        vocab_size=96, num_mel_bins=16, max_source_positions=20, max_target_positions=32, suppress_tokens=None,
        begin_suppress_tokens=None, **SIDES,
    )
    model = randomized(transformers.WhisperForConditionalGeneration(config))
    inputs = {"input_features": torch.randn(BATCH, 16, 40), "decoder_input_ids": tokens(length=5)}
    axes = {"input_features": {0: "batch"}, "decoder_input_ids": {0: "batch", 1: "target"}}
    return Outputs(model, list(inputs), ("logits",), use_cache=False), inputs, axes


def vit():
    config = transformers.ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32, patch_size=8
    )
    return of_images(transformers.ViTModel(config))


def clip():
    small = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
    config = transformers.CLIPConfig(
        text_config=dict(
            small, vocab_size=96, max_position_embeddings=32, eos_token_id=2, bos_token_id=1, pad_token_id=0
        ),
        vision_config=dict(small, image_size=32, patch_size=8), projection_dim=16,
    )
    inputs = {
        "input_ids": tokens(), "attention_mask": mask(),
        "pixel_values": torch.randn(BATCH, 3, 32, 32, generator=torch.Generator().manual_seed(2)),
    }
    axes = {"input_ids": SEQUENCE, "attention_mask": SEQUENCE, "pixel_values": {0: "images"}}
    model = randomized(transformers.CLIPModel(config))
    return Outputs(model, list(inputs), ("logits_per_image", "text_embeds", "image_embeds")), inputs, axes


def siglip():
    config = transformers.SiglipVisionConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32, patch_size=8
    )
    return of_images(transformers.SiglipVisionModel(config), ("last_hidden_state", "pooler_output"))


def dinov2():
    config = transformers.Dinov2Config(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, mlp_ratio=2, image_size=32, patch_size=8
    )
    return of_images(transformers.Dinov2Model(config))


def segformer():
    config = transformers.SegformerConfig(
        num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[16, 32], num_attention_heads=[2, 4],
        patch_sizes=[7, 3], strides=[4, 2], mlp_ratios=[2, 2], decoder_hidden_size=16,
    )
    return of_images(transformers.SegformerForSemanticSegmentation(config), ("logits",))


def wav2vec2():
    config = transformers.Wav2Vec2Config(
        vocab_size=32, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        conv_dim=[16, 16], conv_stride=[5, 2], conv_kernel=[10, 3], num_conv_pos_embeddings=8,
        num_conv_pos_embedding_groups=2,
    )
    sound = torch.randn(BATCH, 400, generator=torch.Generator().manual_seed(2))
    model = Outputs(randomized(transformers.Wav2Vec2ForCTC(config)), ["input_values"], ("logits",))
    return model, {"input_values": sound}, {"input_values": {0: "batch"}}


def swin():
    config = transformers.SwinConfig(
        image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4
    )
    return of_images(transformers.SwinModel(config))


def convnext():
    config = transformers.ConvNextConfig(depths=[1, 1, 2, 1], hidden_sizes=[16, 24, 32, 48])
    return of_images(transformers.ConvNextModel(config), size=64)


def sam():
    config = transformers.SamVisionConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, mlp_dim=64, image_size=64, patch_size=8,
        window_size=4, global_attn_indexes=[1], output_channels=16,
    )
    return of_images(transformers.SamVisionModel(config), size=64)


class UNetBlock(nn.Module):
    """A block of a diffusion model: a residual block with a time embedding, self and cross attention, and GEGLU."""

    def __init__(self, channels=32, heads=4, context=24):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.GroupNorm(8, channels, eps=1e-6) for _ in range(3))
        self.convs = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
        self.time = nn.Linear(16, channels)
        self.inside, self.outside = nn.Conv2d(channels, channels, 1), nn.Conv2d(channels, channels, 1)
        self.layer_norms = nn.ModuleList(nn.LayerNorm(channels) for _ in range(3))
        sizes = [channels, channels, channels, channels, context, context]
        self.projections = nn.ModuleList(nn.Linear(size, channels, bias=False) for size in sizes)
        self.joins = nn.ModuleList(nn.Linear(channels, channels) for _ in range(2))
        self.gate, self.down = nn.Linear(channels, 8 * channels), nn.Linear(4 * channels, channels)

    def attention(self, x, other, projections, join):
        heads = lambda y: y.view(y.shape[0], -1, self.heads, y.shape[-1] // self.heads).transpose(1, 2)
        query, key, value = (heads(p(y)) for p, y in zip(projections, (x, other, other)))
        mixed = nn.functional.scaled_dot_product_attention(query, key, value)
        return join(mixed.transpose(1, 2).reshape(x.shape[0], -1, x.shape[-1]))

    def forward(self, sample, time, context):
        x = self.convs[0](nn.functional.silu(self.norms[0](sample)))
        x = x + self.time(nn.functional.silu(time))[:, :, None, None]
        x = sample + self.convs[1](nn.functional.silu(self.norms[1](x)))
        batch, channels, height, width = x.shape
        y = self.inside(self.norms[2](x)).permute(0, 2, 3, 1).reshape(batch, height * width, channels)
        n = self.layer_norms[0](y)
        y = y + self.attention(n, n, self.projections[:3], self.joins[0])
        y = y + self.attention(self.layer_norms[1](y), context, [self.projections[3], *self.projections[4:]], self.joins[1])
        hidden, gate = self.gate(self.layer_norms[2](y)).chunk(2, dim=-1)
        y = y + self.down(hidden * nn.functional.gelu(gate))
        return x + self.outside(y.reshape(batch, height, width, channels).permute(0, 3, 1, 2))


def unet():
    inputs = {"sample": torch.randn(BATCH, 32, 8, 8), "time": torch.randn(BATCH, 16), "context": torch.randn(BATCH, 5, 24)}
    axes = {"sample": {0: "batch"}, "time": {0: "batch"}, "context": {0: "batch", 1: "words"}}
    return randomized(UNetBlock()), inputs, axes


class Experts(nn.Module):
    """A layer of experts: every expert runs, and a token's result is the mean of its best two, weighted by a softmax."""

    def __init__(self, size=32, inner=48, experts=4, best=2):
        super().__init__()
        self.best = best
        self.scale = nn.Parameter(torch.ones(size))
        self.router = nn.Linear(size, experts, bias=False)
        self.gates, self.ups = (nn.Parameter(torch.empty(experts, size, inner)) for _ in range(2))
        self.downs = nn.Parameter(torch.empty(experts, inner, size))

    def forward(self, hidden):
        x = self.scale * (hidden * torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True) + 1e-6))
        x = x.reshape(-1, hidden.shape[-1])
        shares, chosen = torch.topk(torch.softmax(self.router(x), dim=-1), self.best, dim=-1)
        shares = shares / shares.sum(dim=-1, keepdim=True)
        weights = torch.zeros_like(self.router(x)).scatter(1, chosen, shares)
        y = torch.bmm(nn.functional.silu(torch.matmul(x, self.gates)) * torch.matmul(x, self.ups), self.downs)
        return hidden + (y * weights.T[:, :, None]).sum(dim=0).view(hidden.shape)


def moe():
    return randomized(Experts()), {"hidden": torch.randn(BATCH, LENGTH, 32)}, {"hidden": SEQUENCE}


ARCHITECTURES = {
    "bert": lambda: encoder("Bert"),
    "bert-eager": lambda: encoder("Bert", "eager"),
    "distilbert": distilbert,
    "roberta": lambda: encoder("Roberta", pad_token_id=1),
    "albert": lambda: encoder("Albert", embedding_size=16),
    "electra": lambda: encoder("Electra", embedding_size=32),
    "mpnet": lambda: encoder("MPNet", "eager"),
    "deberta": lambda: encoder("DebertaV2", "eager", relative_attention=True, pos_att_type=["p2c", "c2p"]),
    "modernbert": lambda: encoder("ModernBert", pad_token_id=0, cls_token_id=1, sep_token_id=2, local_attention=4),
    "gpt2": gpt2,
    "gpt2-eager": lambda: gpt2("eager"),
    "llama": lambda: decoder("Llama"),
    "llama-eager": lambda: decoder("Llama", "eager"),
    "llama-unmasked": lambda: decoder("Llama", masked=False),
    "llama-past": lambda: with_past("Llama"),
    "qwen3-past": lambda: with_past("Qwen3", head_dim=8),
    "gpt-neox-past": lambda: with_past("GPTNeoX", num_key_value_heads=4),
    "mistral": lambda: decoder("Mistral", sliding_window=4, head_dim=8),
    "qwen2": lambda: decoder("Qwen2"),
    "qwen3": lambda: decoder("Qwen3", head_dim=8),
    "gemma": lambda: decoder("Gemma", head_dim=8),
    "gemma2": lambda: decoder("Gemma2", "eager", head_dim=8, sliding_window=4),
    "phi": lambda: decoder("Phi", partial_rotary_factor=0.5),
    "phi3": lambda: decoder("Phi3"),
    "gemma3": lambda: of_text(
        transformers.Gemma3ForCausalLM(transformers.Gemma3TextConfig(**GROUPED, head_dim=8, sliding_window=4)),
        ("logits",), use_cache=False,
    ),
    "olmo2": lambda: decoder("Olmo2"),
    "cohere": lambda: decoder("Cohere"),
    "starcoder2": lambda: decoder("Starcoder2", sliding_window=None),
    "mixtral": lambda: decoder("Mixtral", num_local_experts=2, num_experts_per_tok=1),
    "gpt-neox": lambda: decoder("GPTNeoX"),
    "gptj": lambda: of_text(
        transformers.GPTJForCausalLM(
            transformers.GPTJConfig(vocab_size=96, n_embd=32, n_layer=2, n_head=4, n_positions=64, rotary_dim=4)
        ),
        ("logits",), use_cache=False,
    ),
    "opt": lambda: decoder("OPT", ffn_dim=64, word_embed_proj_dim=32),
    "bloom": lambda: of_text(
        transformers.BloomForCausalLM(transformers.BloomConfig(vocab_size=96, hidden_size=32, n_layer=2, n_head=4)),
        ("logits",), use_cache=False,
    ),
    "falcon": lambda: decoder("Falcon", alibi=False, new_decoder_architecture=False),
    "t5": t5,
    "t5-gated": lambda: t5(True),
    "bart": bart,
    "whisper": whisper,
    "vit": vit,
    "clip": clip,
    "siglip": siglip,
    "dinov2": dinov2,
    "segformer": segformer,
    "wav2vec2": wav2vec2,
    "swin": swin,
    "convnext": convnext,
    "sam": sam,
    "unet": unet,
    "moe": moe,
}

FAMILIES = {
    "encoder": "bert bert-eager distilbert roberta albert electra mpnet deberta modernbert".split(),
    "decoder": (
        "gpt2 gpt2-eager llama llama-eager llama-unmasked mistral qwen2 qwen3 gemma gemma2 gemma3 phi phi3 olmo2 cohere "
        "starcoder2 mixtral gpt-neox gptj opt bloom falcon"
    ).split(),
    "past": "llama-past qwen3-past gpt-neox-past".split(),
    "both": "t5 t5-gated bart whisper".split(),
    "image": "vit clip siglip dinov2 segformer swin convnext sam unet".split(),
    "sound": ["wav2vec2"],
    "experts": ["moe"],
}
