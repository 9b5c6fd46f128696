"""What verbs print"""
