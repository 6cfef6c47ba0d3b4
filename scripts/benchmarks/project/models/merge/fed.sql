-- the feed of changes lets an aggregate be kept instead of rebuilt
{{ merges({'delta': {'delta.enableDeletionVectors': 'true', 'delta.enableChangeDataFeed': 'true'}}) }}
{{ arrived() }}
