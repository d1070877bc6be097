//! Small PNNX models, written here: the meaning of their lines, notes, and how the program handles them.

use crate::command::{Ran, run_with};
use proptest::prelude::*;
use tautomer::exec::{Executor, Mode, Plan};
use tautomer::formats::pnnx::{Archive, Imported, ParamFile, export, import, write_archive};
use tautomer::graph::{Graph, interpret, same_graph};
use tautomer::tensor::{Tensor, Type};

fn model(lines: &str) -> String {
    let count = lines.lines().count();
    format!("7767517\n{count} 0\n{lines}\n")
}

fn read(lines: &str) -> Result<Imported, String> {
    let text = model(lines);
    let file = ParamFile::read("small", &text).map_err(|e| e.render(false))?;
    import("small", &text, &file, None).map_err(|e| e.render(false))
}

fn results(lines: &str, inputs: &[Tensor]) -> Vec<Tensor> {
    let graph = read(lines).unwrap_or_else(|e| panic!("{e}")).workload.graph;
    let value = |v| graph.inputs().iter().position(|&u| u == v).map(|i| inputs[i].clone());
    interpret(&graph, &value).unwrap_or_else(|e| panic!("{e}"))
}

/// The single result of an expression of two tensors.
fn expression(text: &str, a: &Tensor, b: &Tensor) -> Tensor {
    let ty = |t: &Tensor| {
        let extents: Vec<String> = t.shape().iter().map(usize::to_string).collect();
        format!("({}){}", extents.join(","), t.dtype())
    };
    let lines = format!(
        "pnnx.Input a 0 1 0 #0={}\npnnx.Input b 0 1 1 #1={}\npnnx.Expression e 2 1 0 1 2 expr={text}\npnnx.Output o 1 0 2",
        ty(a),
        ty(b)
    );
    results(&lines, &[a.clone(), b.clone()]).remove(0)
}

#[test]
fn functions_mean_what_torch_means() {
    let x = Tensor::vector(vec![-7.0f32, -0.5, 0.0, 2.5]);
    let y = Tensor::vector(vec![2.0f32, -2.0, 3.0, 0.1]);
    for (text, expected) in [
        ("floor_divide(@0,@1)", [-4.0f32, 0.0, 0.0, 24.0]),
        ("remainder(@0,@1)", [1.0, -0.5, 0.0, 0.099_999_964]),
        ("fmod(@0,@1)", [-1.0, -0.5, 0.0, 0.099_999_964]),
        ("trunc(@0)", [-7.0, -0.0, 0.0, 2.0]),
        ("round(@0)", [-7.0, -0.0, 0.0, 2.0]),
        ("sign(@0)", [-1.0, -1.0, 0.0, 1.0]),
        ("square(@0)", [49.0, 0.25, 0.0, 6.25]),
        ("max(@0,1)", [1.0, 1.0, 1.0, 2.5]),
        ("pow(@0,2)", [49.0, 0.25, 0.0, 6.25]),
        ("sub(size(@0,0),@0)", [11.0, 4.5, 4.0, 1.5]),
    ] {
        assert_eq!(expression(text, &x, &y), Tensor::vector(expected.to_vec()), "{text}");
    }
    let nan = Tensor::vector(vec![f32::NAN]);
    assert_eq!(expression("sign(@0)", &nan, &nan), Tensor::vector(vec![0.0f32]));
}

#[test]
fn small_arguments_keep_their_digits() {
    let x = Tensor::vector(vec![1e-10f32, -1e-10, 0.0, -0.0, f32::INFINITY, 1.0]);
    let near = |text: &str, f: fn(f64) -> f64| {
        let Tensor::F32(found) = expression(text, &x, &x) else {
            panic!("{text}")
        };
        let Tensor::F32(given) = &x else { return };
        for (found, given) in found.iter().zip(given) {
            assert_eq!(
                found.to_bits(),
                (f(f64::from(*given)) as f32).to_bits(),
                "{text} of {given}"
            );
        }
    };
    near("expm1(@0)", f64::exp_m1);
    near("log1p(@0)", f64::ln_1p);
    let edges = Tensor::vector(vec![f32::NEG_INFINITY, 1000.0, -1000.0, f32::INFINITY]);
    let sums = expression("logaddexp(@0,@1)", &edges, &edges);
    let twice = |x: f64| (x + std::f64::consts::LN_2) as f32;
    let expected = vec![f32::NEG_INFINITY, twice(1000.0), twice(-1000.0), f32::INFINITY];
    assert_eq!(sums, Tensor::vector(expected));
}

#[test]
fn angles_have_the_quadrant_of_their_point() {
    let numbers = [-f32::INFINITY, -2.0, -0.0, 0.0, 1.0, f32::INFINITY];
    let pairs = numbers.iter().flat_map(|&y| numbers.iter().map(move |&x| (y, x)));
    let (ys, xs): (Vec<f32>, Vec<f32>) = pairs.unzip();
    let Tensor::F32(found) = expression("atan2(@0,@1)", &Tensor::vector(ys.clone()), &Tensor::vector(xs.clone()))
    else {
        panic!("atan2")
    };
    for ((y, x), found) in ys.iter().zip(&xs).zip(&found) {
        let expected = f64::from(*y).atan2(f64::from(*x)) as f32;
        assert_eq!(found.to_bits(), expected.to_bits(), "atan2({y}, {x})");
    }
}

#[test]
fn integers_shift_and_divide_as_torch_does() {
    let x = Tensor::vector(vec![-7i32, 7, i32::MIN, 1]);
    let y = Tensor::vector(vec![2i32, 2, 31, 40]);
    for (text, expected) in [
        ("floor_divide(@0,@1)", [-4, 3, -69_273_667, 0]),
        ("remainder(@0,@1)", [1, 1, 29, 1]),
        ("lshift(@0,@1)", [-28, 28, 0, 0]),
        ("rshift(@0,@1)", [-2, 1, -1, 0]),
        ("and(@0,3)", [1, 3, 0, 1]),
        ("xor(@0,@1)", [-5, 5, i32::MIN + 31, 41]),
    ] {
        assert_eq!(expression(text, &x, &y), Tensor::vector(expected.to_vec()), "{text}");
    }
    assert_eq!(
        expression("div(@0,@1)", &x, &y),
        Tensor::vector(vec![-3.5f32, 3.5, i32::MIN as f32 / 31.0, 0.025])
    );
}

#[test]
fn scattered_brackets_are_noted() {
    let lines = "pnnx.Input a 0 1 0 #0=(2)f32\npnnx.Expression e 1 1 0 1 expr=add(expm1,@0),1\npnnx.Output o 1 0 1";
    let notes = read(lines).unwrap().notes.render(false);
    assert!(
        notes.contains("T0509") && notes.contains("read as `add(expm1(@0),1)`"),
        "{notes}"
    );
    assert!(notes.contains("expected `(`, found `,` at 9..10"), "{notes}");
    let problem = read(&lines.replace("add(expm1,@0),1", "add(@0,")).unwrap_err();
    assert!(
        problem.contains("T0503") && problem.contains("found the end at 7..7"),
        "{problem}"
    );
    let problem = read(&lines.replace("add(expm1,@0),1", "add(@0,@7)")).unwrap_err();
    assert!(problem.contains("there is no operand @7"), "{problem}");
}

#[test]
fn operators_that_nobody_knows_are_carried_along() {
    let lines = "pnnx.Input a 0 1 0 #0=(2)f32\npnnx.Expression e 0 1 1 expr=3\n\
        my.Layer l 2 2 0 1 2 3 mode=odd @w=(2)f32 $x=0 #2=(2)f32 #3=(2)i64\ntorch.relu r 1 1 2 4 $input=2\n\
        prim::TupleConstruct t 2 1 4 3 5\npnnx.Output o 1 0 5";
    let imported = read(lines).unwrap();
    assert!(
        imported.notes.render(false).contains("`my.Layer` is carried along"),
        "{}",
        imported.notes.render(false)
    );
    let exported = export(&imported.workload.graph, &imported.workload.params).unwrap();
    let text = exported.file.text();
    assert!(text.contains("mode=odd @w=(2)f32 $x="), "{text}");
    let file = ParamFile::read("again", &text).unwrap();
    let again = import("again", &text, &file, None).unwrap();
    same_graph(&imported.workload.graph, &again.workload.graph).unwrap();
}

#[test]
fn lists_among_operands_that_are_carried_along_stay_lists() {
    // The text has two values, and is thereby a list.
    let lines = "pnnx.Input a 0 1 0 #0=(2)f32\npnnx.Expression e 1 1 0 1 expr=neg(@0),1\n\
        prim::ListConstruct n 2 1 1 0 2\nmy.Layer l 3 1 0 2 1 3 $x=0 $y=2 #3=(2)f32\npnnx.Output o 1 0 3";
    let imported = read(lines).unwrap();
    let exported = export(&imported.workload.graph, &imported.workload.params).unwrap();
    let text = exported.file.text();
    assert_eq!(text.matches("prim::ListConstruct").count(), 3, "{text}");
    let line = text.lines().find(|line| line.starts_with("my.Layer")).unwrap();
    assert_eq!(line.split_whitespace().nth(2), Some("3"), "{line}");
    let file = ParamFile::read("again", &text).unwrap();
    let again = import("again", &text, &file, None).unwrap();
    same_graph(&imported.workload.graph, &again.workload.graph).unwrap();
}

#[test]
fn complex_numbers_that_are_carried_along_are_not_written_as_pairs() {
    for line in [
        "nn.Linear l 1 1 0 1 bias=False in_features=4 out_features=3 @weight=(3,4)c64 #1=(2,3)f32",
        "my.Layer l 1 1 0 1 #1=(2,3)c64",
    ] {
        let lines = format!("pnnx.Input a 0 1 0 #0=(2,4)f32\n{line}\npnnx.Output o 1 0 1");
        let imported = read(&lines).unwrap();
        let problem = export(&imported.workload.graph, &imported.workload.params)
            .map(|_| ())
            .unwrap_err();
        let text = problem.render(false);
        assert!(
            text.contains("was carried along unread and has complex numbers"),
            "{text}"
        );
    }
}

#[test]
fn operands_of_any_size_are_moved_or_refused() {
    for line in [
        "torch.rot90 k 1 1 0 1 dims=(0,2) k=-1 $input=0",
        "torch.transpose k 1 1 0 1 dim0=1 dim1=-1 $input=0",
        "Tensor.slice k 1 1 0 1 dim=2 end=-1 start=-4 step=1 $input=0",
        "torch.roll k 1 1 0 1 dims=(1,2) shifts=(2,-1) $input=0",
        "torch.tensor_split k 1 3 0 1 2 3 dim=2 indices=(1,3) $input=0",
    ] {
        let lines = format!("pnnx.Input y 0 1 0 #0=(2,6,9223372036854775807)i64\n{line}\npnnx.Output o 1 0 1");
        // What matters is that it ends: indices of such a tensor do not fit into a machine's.
        let _ = read(&lines).map(|imported| imported.workload.graph.validate().unwrap());
    }
}

#[test]
fn damaged_models_never_panic() {
    let lines = "pnnx.Input a 0 1 0 #0=(1,2,8,?)f32\nnn.Conv2d c 1 1 0 1 bias=True dilation=(1,1) groups=1 in_channels=2 \
        kernel_size=(3,3) out_channels=4 padding=(1,1) padding_mode=zeros stride=(1,1) @bias=(4)f32 @weight=(4,2,3,3)f32\n\
        Tensor.slice s 1 1 1 2 dim=1 end=2 start=0 step=1 $input=1\ntorch.unbind u 1 2 2 3 4 dim=1\n\
        pnnx.Expression x 2 1 3 4 5 expr=add(mul(@0,size(@1,1)),floor_divide(@0,2.5))\n\
        F.adaptive_avg_pool2d p 1 1 1 6 output_size=(2,3) $input=1\ntorch.flatten f 1 1 6 7 end_dim=-1 start_dim=1 $input=6\n\
        nn.LSTM l 1 1 5 8 batch_first=True bidirectional=True hidden_size=2 num_layers=2\nF.pad d 1 1 5 9 mode=reflect \
        pad=(1,1) value=None $input=5\nprim::TupleConstruct t 3 1 5 7 9 10\npnnx.Output o 1 0 10";
    let text = model(lines);
    let mut state = 12_345u64;
    let mut random = |n: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let odd = [
        "",
        "-1",
        "0",
        "999999999999",
        "None",
        "(",
        ")",
        "@",
        "@9",
        "?",
        "%n",
        "=",
        " ",
        "f16",
        "c64",
        "True",
        "()",
    ];
    for _ in 0..2000 {
        let mut words: Vec<String> = text.split_inclusive([' ', '\n', ',', '=']).map(str::to_owned).collect();
        for _ in 0..=random(3) {
            let at = random(words.len());
            let end: String = words[at]
                .chars()
                .last()
                .filter(|c| " \n,=".contains(*c))
                .into_iter()
                .collect();
            words[at] = format!("{}{end}", odd[random(odd.len())]);
        }
        let damaged: String = words.concat();
        if let Ok(file) = ParamFile::read("damaged", &damaged)
            && let Ok(imported) = import("damaged", &damaged, &file, None)
        {
            let _ = export(&imported.workload.graph, &imported.workload.params);
        }
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused_with_their_ranks() {
    let conv = |params: &str, input: &str| {
        format!(
            "pnnx.Input x 0 1 0 #0={input}f32\nnn.Conv2d c 1 1 0 1 bias=False dilation=(1,1) groups=1 stride=(1,1) {params}\n\
             pnnx.Output o 1 0 1"
        )
    };
    let plain = "padding=(0,0) padding_mode=zeros";
    let pool = |kind: &str, params: &str, input: &str| {
        format!("pnnx.Input x 0 1 0 #0={input}f32\n{kind} p 1 1 0 1 {params}\npnnx.Output o 1 0 1")
    };
    for (lines, message) in [
        (
            conv(&format!("{plain} @weight=(4)f32"), "(1,2,8,8)"),
            "its weight has rank 1, but rank 4 is required",
        ),
        (
            conv("padding=same padding_mode=zeros @weight=(4,2)f32", "(1,2,8,8)"),
            "its weight has rank 2, but rank 4 is required",
        ),
        (
            conv(&format!("{plain} @weight=(4,2,3,3)f32"), "(8)"),
            "its input has rank 1, but rank 4 is required",
        ),
        (
            pool("F.adaptive_avg_pool2d", "output_size=(2,3)", "(8)"),
            "its input has rank 1, but rank 4 is required",
        ),
        (
            pool(
                "F.adaptive_max_pool3d",
                "output_size=(2,3,1) return_indices=True",
                "(2,8)",
            ),
            "its input has rank 2, but rank 5 is required",
        ),
        (
            pool("F.max_pool2d", "kernel_size=(2,2) stride=(2,2)", "()"),
            "its input has rank 0, but rank 4 is required",
        ),
        (
            pool("F.interpolate", "mode=nearest size=(2,3,4)", "(1,2,4,4)"),
            "`size` has length 3, but length 2 is required",
        ),
        (
            pool("torch.unsqueeze", "dim=9223372036854775807", "(2,3)"),
            "operator `p` (torch.unsqueeze)",
        ),
        (
            pool("torch.roll", "shifts=(1) dims=(-9223372036854775808)", "(2,3)"),
            "axis -9223372036854775808 is out of range for rank 2: it must be in -2..=1",
        ),
    ] {
        let problem = read(&lines).map(|_| ()).unwrap_err();
        assert!(
            problem.contains(message) && problem.contains("small:4:1"),
            "{lines}\n{problem}"
        );
    }
}

fn npy(folder: &std::path::Path, name: &str, value: &Tensor) -> String {
    let path = folder.join(name);
    std::fs::write(&path, tautomer::formats::npy::write_npy(value).unwrap()).unwrap();
    path.display().to_string()
}

/// Writes a model of a linear layer into a directory; returns the path of its text.
fn linear(folder: &std::path::Path) -> String {
    let text = model(
        "pnnx.Input x 0 1 0 #0=(1,2)f32\n\
         nn.Linear fc 1 1 0 1 bias=True in_features=2 out_features=2 @bias=(2)f32 @weight=(2,2)f32 #0=(1,2)f32 #1=(1,2)f32\n\
         nn.ReLU act 1 1 1 2\n\
         pnnx.Expression e 1 1 2 3 expr=add(mul(@0,1.0),0.0)\n\
         pnnx.Output o 1 0 3",
    );
    let bytes = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let members = [
        ("fc.bias".to_owned(), bytes(&[0.5, -100.0])),
        ("fc.weight".to_owned(), bytes(&[1.0, 2.0, 3.0, 4.0])),
    ];
    let path = folder.join("linear.pnnx.param");
    std::fs::write(&path, text).unwrap();
    let archive = write_archive(&members.into_iter().collect()).unwrap();
    assert_eq!(Archive::read(&archive).unwrap().members().count(), 2);
    std::fs::write(folder.join("linear.pnnx.bin"), archive).unwrap();
    path.display().to_string()
}

fn ok(ran: &Ran) -> String {
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    ran.out.clone()
}

/// True if the output is the result of the linear layer for ones.
fn is_right(ran: &Ran) -> bool {
    let printed = ok(ran);
    let words: Vec<&str> = printed.split_whitespace().collect();
    words.ends_with(&["[[3.5", "0.]]"])
}

#[test]
fn the_program_works_with_models() {
    let folder = tempfile::tempdir().unwrap();
    let tautomer = |args: &[&str]| run_with(folder.path(), args, "");
    let path = linear(folder.path());
    let x = npy(
        folder.path(),
        "x.npy",
        &Tensor::new(&[1, 2], vec![1.0f32, 1.0]).unwrap(),
    );
    assert!(is_right(&tautomer(&["run", &path, "--input", &x])));
    assert!(ok(&tautomer(&["print", &path])).contains("dense(x, "));
    ok(&tautomer(&["check", &path]));
    let smaller = folder.path().join("smaller.pnnx.param").display().to_string();
    ok(&tautomer(&["optimize", &path, "-o", &smaller]));
    let text = std::fs::read_to_string(&smaller).unwrap();
    assert!(text.contains("F.linear") && !text.contains("pnnx.Expression"), "{text}");
    assert!(is_right(&tautomer(&["run", &smaller, "--input", &x])));
    let onnx = folder.path().join("m.onnx").display().to_string();
    let back = folder.path().join("back.pnnx.param").display().to_string();
    ok(&tautomer(&["convert", &path, &onnx]));
    ok(&tautomer(&["convert", &onnx, &back]));
    assert!(is_right(&tautomer(&["run", &back, "--input", &x])));
    std::fs::remove_file(folder.path().join("linear.pnnx.bin")).unwrap();
    ok(&tautomer(&["check", &path]));
    let refused = tautomer(&["run", &path, "--input", &x]);
    assert!(
        refused.code == 2 && refused.err.contains("has no value"),
        "{}",
        refused.err
    );
}

#[test]
fn complex_numbers_are_pairs() {
    let lines = "pnnx.Input a 0 1 0 #0=(2)c64\n\
        pnnx.Expression e 1 1 0 1 expr=mul(@0,sub(1.000000e+00+2.000000e+00j,@0))\n\
        torch.real r 1 1 1 2 $input=1\ntorch.imag i 1 1 1 3 $input=1\npnnx.Expression m 1 1 0 4 expr=abs(@0)\n\
        prim::TupleConstruct t 3 1 2 3 4 5\npnnx.Output o 1 0 5";
    // (3 + 4i)(-2 - 2i) = 2 - 14i, i (1 + i) = -1 + i
    let x = Tensor::new(&[2, 2], vec![3.0f32, 4.0, 0.0, 1.0]).unwrap();
    let expected = [vec![2.0f32, -1.0], vec![-14.0, 1.0], vec![5.0, 1.0]].map(Tensor::vector);
    assert_eq!(results(lines, &[x]), expected);
}

#[test]
fn plans_take_extents_from_inputs() {
    let lines = "pnnx.Input a 0 1 0 #0=(?,%n)f32\n\
        pnnx.Expression s 1 1 0 1 expr=[mul(size(@0,0),size(@0,1))]\nTensor.reshape r 2 1 0 1 2 $input=0 $shape=1\n\
        pnnx.Expression e 2 1 2 0 3 expr=mul(@0,pow(size(@1,1),-0.5))\npnnx.Output o 1 0 3";
    let graph = read(lines).unwrap().workload.graph;
    let executor = Executor::new(Plan::compile(&graph).unwrap(), Mode::Kernels).unwrap();
    for columns in [1usize, 4] {
        let x = Tensor::new(&[2, columns], vec![2.0f32; 2 * columns]).unwrap();
        let factor = 1.0 / (columns as f32).sqrt();
        let found = executor.run(&[x], &Default::default()).unwrap();
        assert_eq!(found, [Tensor::vector(vec![2.0 * factor; 2 * columns])]);
    }
}

/// The graph that results from writing and reading back; `None` if it cannot be written.
fn written(graph: &Graph) -> Option<Result<(Graph, String), String>> {
    let text = export(graph, &Default::default()).ok()?.file.text();
    let again = ParamFile::read("written", &text).and_then(|file| import("written", &text, &file, None));
    Some(match again {
        Ok(imported) => Ok((imported.workload.graph, text)),
        Err(problems) => Err(format!("{}{text}", problems.render(false))),
    })
}

fn is_known(ty: &Type) -> bool {
    let mut known = true;
    ty.visit_dims(&mut |dim| known &= !dim.has_unknown());
    known
}

proptest! {
    #![proptest_config(tautomer_testing::random_cases(200))]

    #[test]
    fn random_graphs_survive_their_files(graph in crate::common::graph(12)) {
        // A graph that cannot be expressed is rejected; any other is read back as the same graph, except that unknown
        // dimensions get names.
        let Some(first) = written(&graph) else { return Ok(()) };
        let (again, text) = first.map_err(TestCaseError::fail)?;
        if graph.ids().all(|v| is_known(graph.ty(v))) {
            let same = same_graph(&graph, &again);
            prop_assert!(same.is_ok(), "{same:?}\n{text}");
        }
        let Some(second) = written(&again) else { return Err(TestCaseError::fail(text)) };
        let (third, text) = second.map_err(TestCaseError::fail)?;
        let same = same_graph(&again, &third);
        prop_assert!(same.is_ok(), "{same:?}\n{text}");
    }
}
