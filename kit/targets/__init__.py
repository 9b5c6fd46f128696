"""Where a stack runs: one module per target."""
