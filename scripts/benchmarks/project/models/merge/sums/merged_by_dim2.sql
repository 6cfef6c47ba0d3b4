{{ sums_of(ref('merged'), 'dim2') }}
