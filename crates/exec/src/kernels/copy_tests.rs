use super::*;

fn view(elements: &[i32], shape: &[usize], strides: &[isize], start: usize) -> Vec<i32> {
    let layout = Layout::new(shape, strides, start, elements.len()).unwrap();
    gather(&View::new(elements, layout).unwrap())
}

#[test]
fn views_are_copied_in_order() {
    let source: Vec<i32> = (0..24).collect();
    assert_eq!(view(&source, &[24], &[1], 0), source);
    assert_eq!(view(&source, &[], &[], 5), [5]);
    assert_eq!(view(&source, &[4], &[-6], 23), [23, 17, 11, 5]);
    assert_eq!(view(&source, &[2, 2, 2], &[0, 1, 0], 2), [2, 2, 3, 3, 2, 2, 3, 3]);
    assert_eq!(view(&source, &[3, 2], &[1, 12], 0), [0, 12, 1, 13, 2, 14]);
    assert_eq!(view(&source, &[3, 2], &[-1, 12], 2), [2, 14, 1, 13, 0, 12]);
    assert!(view(&source, &[0, 2], &[1, 12], 0).is_empty());
}

/// Covers every word size and every remainder of a tile.
#[test]
fn tiles_cover_everything() {
    fn check<T: Copy + PartialEq + std::fmt::Debug + 'static>(make: impl Fn(usize) -> T) {
        let sizes = [
            (1, 1),
            (16, 16),
            (17, 15),
            (3, 65),
            (63, 2),
            (64, 64),
            (72, 130),
            (8, 1025),
            (130, 9),
        ];
        for (rows, columns) in sizes {
            for inner in [1usize, 3] {
                let source: Vec<T> = (0..rows * columns * inner).map(&make).collect();
                let shape = [rows, columns, inner];
                let strides = [1, (rows * inner) as isize, rows as isize];
                let layout = Layout::new(&shape, &strides, 0, source.len()).unwrap();
                let view = View::new(&source, layout).unwrap();
                assert_eq!(gather(&view), view.to_vec(), "{shape:?} of {} bytes", size_of::<T>());
            }
        }
    }
    check(|i| i as u8);
    check(|i| i as u16);
    check(|i| i as u32);
    check(|i| i as u64);
    check(|i| f64::from(i as u32));
    check(|i| [i, i]);
    let texts: Vec<String> = (0..6).map(|i| i.to_string()).collect();
    let layout = Layout::new(&[3, 2], &[1, 3], 0, 6).unwrap();
    assert_eq!(
        gather(&View::new(&texts, layout).unwrap()),
        ["0", "3", "1", "4", "2", "5"]
    );
}

#[test]
fn many_short_axes_are_joined() {
    let layout = Layout::row_major(&[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 16]).unwrap();
    let order: Vec<i64> = (0..11).rev().collect();
    let source: Vec<u32> = (0..layout.len() as u32).collect();
    let view = View::new(&source, layout.permute(&order).unwrap()).unwrap();
    assert_eq!(gather(&view), view.to_vec());
}

/// Results too large for the caches, starting anywhere in a cache line: few columns, many columns, and rows that
/// squares do not divide.
#[test]
fn large_results_are_whole() {
    for (images, rows, columns) in [(8, 5003, 64), (2, 1023, 1040), (131, 7, 2304), (1, 1, 1 << 21)] {
        let n = images * rows * columns;
        assert!(n * size_of::<u32>() >= PAST);
        let source: Vec<u32> = (0..n as u32).collect();
        let shape = [images, rows, columns];
        let strides = [(rows * columns) as isize, 1, rows as isize];
        let view = View::new(&source, Layout::new(&shape, &strides, 0, n).unwrap()).unwrap();
        let expected = view.to_vec();
        assert!(gather(&view) == expected, "{shape:?}");
        // An offset within a cache line at which allocations do not start.
        for shift in 0..16 {
            let mut out = vec![0u32; n + 16];
            // SAFETY: the layout is within the source, and the result has room after the shift.
            unsafe {
                divide(
                    3,
                    source.as_ptr(),
                    out.as_mut_ptr().add(shift),
                    &view.layout().coalesced(),
                )
            };
            assert!(out[shift..shift + n] == expected, "{shape:?} from {shift}");
            assert!(
                out[..shift].iter().chain(&out[shift + n..]).all(|x| *x == 0),
                "{shape:?} from {shift}"
            );
        }
    }
}
