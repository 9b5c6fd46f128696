"""What a model's own files say: config.json, safetensors headers, adapters."""
