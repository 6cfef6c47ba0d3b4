{{ merges() }}
{{ arrived() }}
