"""A manifest's project on disk"""
