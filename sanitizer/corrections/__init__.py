"""What users and teams corrected, for good: phrases that are always hidden, and that never are.

What enters: phrases, and files of contacts or customers. What leaves: the lists, for a policy. They
are kept encrypted on this machine, one file for each user or team.
"""
