{{ sums_of(ref('rewritten'), 'dim1') }}
