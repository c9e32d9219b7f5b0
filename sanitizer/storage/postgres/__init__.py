"""Ledger and vault in a PostgreSQL database, shared by many processes and machines.

`store` opens the database and its transactions, `ledger` and `vault` keep budgets, messages and
tables in it. Others take the names from the door of `sanitizer.storage`.
"""
