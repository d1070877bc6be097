use crate::check::{eval, infer, table};

const POOL: &str = "mode=TF ngram_counts=[0,4] ngram_indexes=[0,1,2,3,4,5,6] pool_int64s=[2,3,5,4,5,6,7,8,6,7]";

#[test]
fn sequences_are_counted() {
    let x = "i32[12] 1 1 3 3 3 7 8 6 7 5 6 8";
    let with = |rest: &str| format!("{POOL} {rest}");
    let pairs = with("min_gram_length=2 max_gram_length=2 max_skip_count=0");
    let all = with("min_gram_length=1 max_gram_length=2 max_skip_count=5");
    let rows = [x];
    table(
        eval,
        &[
            ("tfidf_vectorizer", &pairs, &rows, "f32[7] 0 0 0 0 1 1 1"),
            ("tfidf_vectorizer", &all, &rows, "f32[7] 0 3 1 0 1 3 1"),
            (
                "tfidf_vectorizer",
                "mode=TFIDF weights=[2.0] ngram_counts=[0] ngram_indexes=[0] pool_int64s=[4] min_gram_length=1 max_gram_length=1 max_skip_count=0",
                &["i64[2, 3] 4 4 1 1 1 1"],
                "f32[2, 1] 4 0",
            ),
        ],
    );
    table(
        infer,
        &[
            ("tfidf_vectorizer", &pairs, &["i64[n, 3]"], "f32[n, 7]"),
            (
                "tfidf_vectorizer",
                "mode=TF ngram_counts=[0,3] ngram_indexes=[0] pool_int64s=[1,2] min_gram_length=1 max_gram_length=2 max_skip_count=0",
                &["i64[3]"],
                "`ngram_counts` does not divide the pool into sequences",
            ),
        ],
    );
}
