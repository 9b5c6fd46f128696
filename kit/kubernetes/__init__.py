"""The same stack on Kubernetes: objects printed by kind, a checker that judges them, and the walk that tries them."""
