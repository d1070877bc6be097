//! Convolutions.

use super::padding::pad_mode;
use super::{Args, read, read_by, write};
use crate::ElementType;
use crate::import::{Done, Importer, Val, spatial};
use tautomer_graph::VertexId;
use tautomer_op::AttrValue;

rows! {
    read_by("F.conv#d nn.Conv#d", "input weight bias", |i, a| i.conv(a)).writes(&[write("conv",
        "input weight bias pads=padding++padding strides=stride dilations=dilation group=groups")]),
    read_by("F.conv_transpose#d nn.ConvTranspose#d", "input weight bias", |i, a| i.conv_transpose(a))
        .writes(&[write("conv_transpose",
        "input weight bias pads=padding++padding strides=stride dilations=dilation group=groups \
         output_padding=output_padding:0")]),
    read(
        "torchvision.ops.DeformConv2d",
        "input offset mask weight bias stride padding dilation groups kernel_size in_channels out_channels",
        "deform_conv(input, weight, offset, bias, mask) {
           strides = stride, pads = padding ++ padding, dilations = dilation, group = groups,
           offset_group = offset.shape[1] / (2 * weight.shape[2] * weight.shape[3])
         }",
    ),
    read(
        "pnnx.custom_op.torchvision.deform_conv2d",
        "arg_0 arg_1 arg_2 arg_3 arg_4 arg_5 arg_6 arg_7 arg_8 arg_9 arg_10 arg_11 arg_12 arg_13",
        "when arg_13 == true {
           deform_conv(arg_0, arg_1, arg_2, arg_4, arg_3) {
             strides = [arg_5, arg_6], pads = [arg_7, arg_8, arg_7, arg_8], dilations = [arg_9, arg_10], group = arg_11,
             offset_group = arg_12
           }
         } else {
           deform_conv(arg_0, arg_1, arg_2, arg_4) {
             strides = [arg_5, arg_6], pads = [arg_7, arg_8, arg_7, arg_8], dilations = [arg_9, arg_10], group = arg_11,
             offset_group = arg_12
           }
         }",
    ),
}

impl Importer<'_> {
    fn conv(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let dims = args.dims;
        let (mut x, w) = (self.operand(args, "input", 0)?, self.operand(args, "weight", 1)?);
        let lone = self.shape(x.v)?.len() == dims + 1;
        if lone {
            x.v = self.call("unsqueeze", &[x.v], &[("axes", AttrValue::ints(&[0]))])?;
        }
        spatial(&self.shape(x.v)?, dims, "its input")?;
        let (strides, dilations) = (args.ints("stride", dims)?, args.ints("dilation", dims)?);
        let weight = self.extents(w.v)?;
        let kernel = spatial(&weight, dims, "its weight")?;
        let (before, after): (Vec<i64>, Vec<i64>) = match args.text("padding").as_str() {
            "same" => {
                let totals = dilations.iter().zip(kernel);
                let totals: Vec<i64> = totals.map(|(d, k)| d.saturating_mul(k.saturating_sub(1))).collect();
                (
                    totals.iter().map(|total| total / 2).collect(),
                    totals.iter().map(|total| total - total / 2).collect(),
                )
            }
            "valid" => (vec![0; dims], vec![0; dims]),
            _ => {
                let pads = args.ints("padding", dims)?;
                (pads.clone(), pads)
            }
        };
        let (zeros, mut pads) = (vec![0, 0], [before.clone(), after.clone()].concat());
        let mode = args.text("padding_mode");
        if !matches!(mode.as_str(), "" | "zeros") {
            let mode = pad_mode(&mode)?;
            let whole = [zeros.clone(), before, zeros, after].concat();
            x.v = self.call(
                "pad",
                &[x.v],
                &[("pads", AttrValue::ints(&whole)), ("mode", AttrValue::str(mode))],
            )?;
            pads = vec![0; 2 * dims];
        }
        let mut operands = vec![x.v, w.v];
        operands.extend(self.optional(args, "bias"));
        let attrs = [
            ("strides", AttrValue::ints(&strides)),
            ("pads", AttrValue::ints(&pads)),
            ("dilations", AttrValue::ints(&dilations)),
            ("group", AttrValue::int(args.int("groups")?)),
        ];
        let v = self.call("conv", &operands, &attrs)?;
        self.without_batch(v, lone, x.element)
    }

    fn without_batch(&mut self, v: VertexId, lone: bool, element: ElementType) -> Done<Vec<Val>> {
        let v = if lone {
            self.call("squeeze", &[v], &[("axes", AttrValue::ints(&[0]))])?
        } else {
            v
        };
        self.one(v, element)
    }

    fn conv_transpose(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let dims = args.dims;
        let (mut x, w) = (self.operand(args, "input", 0)?, self.operand(args, "weight", 1)?);
        let lone = self.shape(x.v)?.len() == dims + 1;
        if lone {
            x.v = self.call("unsqueeze", &[x.v], &[("axes", AttrValue::ints(&[0]))])?;
        }
        let pads = args.ints("padding", dims)?;
        let attrs = [
            ("strides", AttrValue::ints(&args.ints("stride", dims)?)),
            ("pads", AttrValue::ints(&[pads.clone(), pads].concat())),
            ("dilations", AttrValue::ints(&args.ints("dilation", dims)?)),
            ("group", AttrValue::int(args.int("groups")?)),
            ("output_padding", AttrValue::ints(&args.ints("output_padding", dims)?)),
        ];
        let mut operands = vec![x.v, w.v];
        operands.extend(self.optional(args, "bias"));
        let v = self.call("conv_transpose", &operands, &attrs)?;
        self.without_batch(v, lone, x.element)
    }
}
