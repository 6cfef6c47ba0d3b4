{{ sums_of(ref('newest'), 'dim2') }}
