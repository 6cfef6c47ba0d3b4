{{ config(alias=collapsing.shard_name('in_2'), meta={'collapsing': {
    'key': 'id', 'version': 'version', 'block': 'load', 'count_decisions': false, 'shards': 2}}) }}
{{ collapsing.ledger(ref('stg_sharded')) }}
