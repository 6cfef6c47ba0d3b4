"""One measure a module. Each has `SIZES`, {scale: {option: value}}, `TARGETS`, the formats it can be taken on, and `run`."""
