{{ config(meta={'collapsing': {
    'engine': 'versioned_collapsing',
    'key': 'id',
    'version': 'updated_at',
    'block': '_block',
    'combine': {
        'metric1': 'greatest(new.metric1, old.metric1)',
        'metric2': 'coalesce(new.metric2, old.metric2)'
    },
    'optimize_after': 100
}}) }}

{{ collapsing.ledger(ref('example5_stage')) }}
