{{ config(file_format=target.name, meta={'collapsing': {
    'join': {'dimensions': {'on': {'dimension_id': 'id'}, 'columns': ['region']}}}}) }}
{{ collapsing.joined(ref('facts'), dimensions=ref('dimensions')) }}
