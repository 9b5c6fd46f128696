"""An Ollama that pretends: `python3 -m pretend_ollama serve | list | show NAME | pull NAME | create NAME -f FILE`.

It has the public HTTP API (docs/api.md and docs/openai.md of Ollama) as far as the kit and its clients use it, and no
model: texts are made from the prompt's hash. Standard library alone. As the real one it has no /health, and a model's
name without a tag means `:latest`.

    store    the models that were pulled or created, a JSON file each under $HOME/.ollama/models
    answers  what a model says: texts, vectors, and the objects of both APIs
    server   the HTTP API
    __main__ the command line, a client of that API
"""
