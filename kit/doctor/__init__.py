"""What a machine lacks: diagnose.py judges, finding.py is what it says."""
