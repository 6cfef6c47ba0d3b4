{{ sums_of(ref('merged'), 'dim1') }}
