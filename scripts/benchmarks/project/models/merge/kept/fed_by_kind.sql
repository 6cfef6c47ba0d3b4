{{ kept_from_feed(ref('fed'), 'kind') }}
