"""Controlled experiments on a stack: what is asked, in which order, and what the answers mean."""
