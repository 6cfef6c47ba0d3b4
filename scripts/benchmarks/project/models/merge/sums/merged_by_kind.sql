{{ sums_of(ref('merged'), 'kind') }}
