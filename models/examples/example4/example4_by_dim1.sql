{{ config(meta={'collapsing': {
    'group_by': ['dim1'],
    'measures': {'metric1': 'sum(metric1)'}
}}) }}

{{ collapsing.projection(ref('example4')) }}
