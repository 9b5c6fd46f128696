"""monogpu-kit: several small models, one GPU, one OpenAI endpoint, kept to what the plan promised."""

__version__ = "0.1.0"
