"""What a model's own files say: config.json, the headers of its safetensors, an adapter. Pure, but for `folder`, which
reads them."""
