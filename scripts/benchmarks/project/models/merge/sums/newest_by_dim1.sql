{{ sums_of(ref('newest'), 'dim1') }}
