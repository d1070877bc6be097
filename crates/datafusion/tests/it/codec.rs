//! Plans that travel as Protobuf messages.

use datafusion::dataframe::DataFrameWriteOptions;
use datafusion::physical_plan::{collect, displayable};
use datafusion::prelude::{CsvReadOptions, SessionContext};
use datafusion_proto::bytes::{
    logical_plan_from_bytes_with_extension_codec, logical_plan_to_bytes_with_extension_codec,
    physical_plan_from_bytes_with_extension_codec, physical_plan_to_bytes_with_extension_codec,
};
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::physical_plan::PhysicalExtensionCodec;
use tautomer_datafusion::{ExpressionFunction, LogicalCodec, Options, PhysicalCodec};

use crate::lineitem::{QUERIES, lineitem};
use crate::{run, session};

const CALL: &str = "SELECT l_orderkey, \
                    tautomer('if(l_tax > 0.02, q * l_tax, 0)', l_tax, named_struct('q', l_quantity + 1)) \
                    AS r FROM lineitem";

/// A session with rows in a file, of a format that codecs know without further features.
async fn with_file(fused: bool) -> (SessionContext, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lineitem.csv");
    let (path, batch) = (path.to_str().unwrap(), lineitem(2000));
    let context = session(fused);
    let rows = context.read_batch(batch.clone()).unwrap();
    rows.write_csv(path, DataFrameWriteOptions::new().with_single_file_output(true), None)
        .await
        .unwrap();
    let options = CsvReadOptions::new().schema(batch.schema_ref());
    context.register_csv("lineitem", path, options).await.unwrap();
    (context, directory)
}

#[test]
fn physical_plans_arrive_as_they_were() {
    run(async {
        let (context, _directory) = with_file(true).await;
        // The receiver knows no function and no table.
        let receiver = SessionContext::new();
        let codec = PhysicalCodec::default();
        for query in QUERIES.map(|(_, query)| query).into_iter().chain([CALL]) {
            let plan = context.sql(query).await.unwrap().create_physical_plan().await.unwrap();
            let bytes = physical_plan_to_bytes_with_extension_codec(plan.clone(), &codec).unwrap();
            let arrived = physical_plan_from_bytes_with_extension_codec(&bytes, &receiver.task_ctx(), &codec).unwrap();
            let shown = |plan| displayable(plan).indent(true).to_string();
            assert_eq!(shown(arrived.as_ref()), shown(plan.as_ref()));
            let found = collect(arrived, receiver.task_ctx()).await.unwrap();
            assert_eq!(found, collect(plan, context.task_ctx()).await.unwrap());
        }
    });
}

#[test]
fn logical_plans_arrive_as_they_were() {
    run(async {
        let (context, _directory) = with_file(false).await;
        let receiver = SessionContext::new();
        let codec = LogicalCodec::default();
        let frame = context.sql(CALL).await.unwrap();
        let wanted = frame.clone().collect().await.unwrap();
        for plan in [frame.logical_plan().clone(), frame.into_optimized_plan().unwrap()] {
            let bytes = logical_plan_to_bytes_with_extension_codec(&plan, &codec).unwrap();
            let arrived = logical_plan_from_bytes_with_extension_codec(&bytes, &receiver.task_ctx(), &codec).unwrap();
            assert_eq!(arrived.display_indent().to_string(), plan.display_indent().to_string());
            let found = receiver
                .execute_logical_plan(arrived)
                .await
                .unwrap()
                .collect()
                .await
                .unwrap();
            assert_eq!(found, wanted);
        }
    });
}

#[test]
fn options_travel_with_the_function() {
    let options = Options {
        promote: true,
        caret_is_power: true,
        seed: 9,
        ..Options::calculator()
    };
    let function = ExpressionFunction::new(options).into();
    let mut buffer = Vec::new();
    PhysicalCodec::default().try_encode_udf(&function, &mut buffer).unwrap();
    assert_eq!(
        *PhysicalCodec::default().try_decode_udf("tautomer", &buffer).unwrap(),
        function
    );
    assert_eq!(
        *LogicalCodec::default().try_decode_udf("tautomer", &buffer).unwrap(),
        function
    );
}

#[test]
fn messages_that_are_not_valid_are_refused() {
    let function = ExpressionFunction::default().into();
    let mut buffer = Vec::new();
    let codec = PhysicalCodec::default();
    codec.try_encode_udf(&function, &mut buffer).unwrap();
    buffer.truncate(buffer.len() - 1);
    assert!(
        codec
            .try_decode_udf("tautomer", &buffer)
            .unwrap_err()
            .to_string()
            .contains("invalid message")
    );
    assert!(
        codec
            .try_decode_udf("tautomer", b"tautomer 1\n")
            .unwrap_err()
            .to_string()
            .contains("no options")
    );
    assert!(codec.try_decode_udf("other", b"").is_err());
}
