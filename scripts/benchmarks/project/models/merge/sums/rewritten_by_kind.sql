{{ sums_of(ref('rewritten'), 'kind') }}
