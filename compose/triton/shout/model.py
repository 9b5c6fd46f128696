"""A model for Triton's Python backend: a text in, the same text in capitals out."""

import numpy as np
import triton_python_backend_utils as backend


class TritonPythonModel:
    """Triton makes one of these for each instance."""

    @staticmethod
    def auto_complete_config(config):
        """What goes in and out, so that no config.pbtxt has to say it."""
        config.set_max_batch_size(8)
        config.add_input({"name": "text", "data_type": "TYPE_STRING", "dims": [1]})
        config.add_output({"name": "loud", "data_type": "TYPE_STRING", "dims": [1]})
        config.set_dynamic_batching()
        return config

    def execute(self, requests):
        """One answer a request."""
        return [backend.InferenceResponse([backend.Tensor("loud", _loud(request))]) for request in requests]


def _loud(request):
    texts = backend.get_input_tensor_by_name(request, "text").as_numpy()
    return np.vectorize(lambda text: text.decode().upper().encode(), otypes=[object])(texts)
