-- the feed of changes lets an aggregate be kept instead of built again
{{ merges({'delta': {'delta.enableDeletionVectors': 'true', 'delta.enableChangeDataFeed': 'true'}}) }}
{{ arrived() }}
