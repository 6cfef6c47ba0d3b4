select
    *,
    regexp_extract(_metadata.file_path, '/landing/(.*)', 1) as _block
from parquet.`landing`
