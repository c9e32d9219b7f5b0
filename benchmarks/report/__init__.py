"""Tables and plots made from the results."""
