{{ kept_from_feed(ref('fed'), 'dim1') }}
