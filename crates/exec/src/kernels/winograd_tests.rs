use super::super::testing::{Case, f32s};
use super::*;
use tautomer_tensor::Tensor;

fn window(height: usize, width: usize, pad: [usize; 2], dilation: usize) -> Window {
    Window {
        input: [1, height, width],
        output: [1, height + 2 * pad[0] - 2 * dilation, width + 2 * pad[1] - 2],
        kernel: [1, 3, 3],
        stride: [1; 3],
        dilation: [1, dilation, 1],
        pad: [0, pad[0], pad[1]],
        pad_end: [0, pad[0], pad[1]],
    }
}

fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let wide = f32s(&[n], seed).to_f64s().unwrap();
    wide.iter().map(|&x| x as f32).collect()
}

/// The convolution by its definition, in double precision.
fn direct(w: &Window, x: &[f32], weights: &[f32], bias: &[f32]) -> Vec<f64> {
    let channels = x.len() / w.input_size();
    let mut out = Vec::new();
    for (filter, &bias) in bias.iter().enumerate() {
        for at in 0..w.output_size() {
            let (y, x_at) = (at / w.output[2], at % w.output[2]);
            let mut sum = f64::from(bias);
            for k in 0..channels * 9 {
                let place = w.position(1, y, k / 3 % 3).zip(w.position(2, x_at, k % 3));
                if let Some((i, j)) = place {
                    let value = x[(k / 9 * w.input[1] + i) * w.input[2] + j];
                    sum += f64::from(value) * f64::from(weights[filter * channels * 9 + k]);
                }
            }
            out.push(sum.clamp(-3.0, 50.0));
        }
    }
    out
}

#[test]
fn tiles_compute_the_convolution() {
    for &micro in Micro::all().iter().filter(|micro| micro.columns.is_multiple_of(16)) {
        for size in [2, 4] {
            for (channels, filters, height, width, pad, dilation) in [
                (1, 1, 3, 3, [0, 0], 1),
                (1, 2, 1, 1, [1, 1], 1),
                (3, micro.rows, 4, 6, [1, 1], 1),
                (2, micro.rows + 1, 5, 3, [1, 0], 1),
                (5, 2 * micro.rows - 1, 17, 33, [0, 1], 1),
                (7, 3, 2, 65, [2, 1], 1),
                (257, 4, 6, 7, [1, 1], 1),
                (3, 5, 11, 9, [1, 1], 2),
                (2, 7, 23, 70, [3, 0], 3),
            ] {
                let w = window(height, width, pad, dilation);
                let (x, weights) = (
                    numbers(channels * height * width, 1),
                    numbers(filters * channels * 9, 2),
                );
                let bias = numbers(filters, 3);
                let tiled = Winograd::new(size, &weights, filters, micro);
                let finish = Finish {
                    low: -3.0,
                    high: 50.0,
                    ..Finish::from(Start::Rows(&bias))
                };
                let want = direct(&w, &x, &weights, &bias);
                let mut first = Vec::new();
                for threads in [1, 2, 3] {
                    let mut out = vec![f32::NAN; want.len()];
                    assert!(tiled.run(&w, &x, finish, &mut out, threads));
                    // Numbers are up to 2, so a result is up to 36 for each channel.
                    let bound = if size == 4 { 2e-5 } else { 1e-5 } * (channels as f64).sqrt();
                    for (i, (&x, y)) in out.iter().zip(&want).enumerate() {
                        let what = format!("{} {size} {channels} {filters} {height} {width} {i}", micro.name);
                        assert!((f64::from(x) - y).abs() <= bound, "{what}: {x} instead of {y}");
                    }
                    if first.is_empty() {
                        first = out;
                    } else {
                        assert_eq!(out, first, "on {threads} threads");
                    }
                }
            }
        }
    }
}

#[test]
fn results_that_are_not_finite_are_computed_directly() {
    let w = window(9, 9, [1, 1], 1);
    let weights = numbers(9 * 4 * 2, 1);
    for special in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
        for size in [2, 4] {
            let mut x = numbers(2 * 81, 2);
            x[100] = special;
            let tiled = Winograd::new(size, &weights, 4, Micro::best());
            let mut out = vec![0.0; 4 * 81];
            let finish = Finish::from(Start::Zero);
            assert!(!tiled.run(&w, &x, finish, &mut out, 1), "{special} with {size}");
        }
    }
    // An image of which tiles are worth while, with numbers that are not finite at some places.
    let mut x = numbers(64 * 30 * 30, 3);
    let wide = Window {
        pad: [0, 1, 1],
        ..window(30, 30, [1, 1], 1)
    };
    assert!(tile_size(&wide, 64, 64, false).is_some() || !Micro::best().columns.is_multiple_of(16));
    let weights = Tensor::new(&[64, 64, 3, 3], numbers(64 * 64 * 9, 4)).unwrap();
    for special in [0.0, f32::NAN, f32::INFINITY] {
        x[5000] = special;
        let x = Tensor::new(&[1, 64, 30, 30], x.clone()).unwrap();
        Case::new("conv", &[x, weights.clone()]).ints("pads", &[1; 4]).check();
    }
}
