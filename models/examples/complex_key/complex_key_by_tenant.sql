{{ config(meta={'collapsing': {
    'group_by': ['tenant_id'],
    'measures': {'live_rows': 'count(*)', 'metric1': 'sum(metric1)'}
}}) }}

{{ collapsing.projection(ref('complex_key')) }}
