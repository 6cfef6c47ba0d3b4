{{ sums_of(ref('rewritten'), 'dim2') }}
