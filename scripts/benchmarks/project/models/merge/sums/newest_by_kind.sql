{{ sums_of(ref('newest'), 'kind') }}
