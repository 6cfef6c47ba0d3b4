{{ config(alias=collapsing.shard_name('in_4'), meta={'collapsing': {
    'key': 'id', 'version': 'version', 'block': 'load', 'count_decisions': false, 'shards': 4}}) }}
{{ collapsing.ledger(ref('stg_sharded')) }}
