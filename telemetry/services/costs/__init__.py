"""What models cost: recording calls, budgets, and reports about both."""
