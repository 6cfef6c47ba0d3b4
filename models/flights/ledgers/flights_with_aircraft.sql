{{ config(meta={'collapsing': {
    'join': {'aircraft': {'on': 'tailnum', 'columns': ['manufacturer', 'seats']}}
}}) }}

{{ collapsing.joined(ref('flights'), aircraft=ref('aircraft')) }}
