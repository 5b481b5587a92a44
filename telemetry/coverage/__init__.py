"""Pure computation over turn events: clusters, Pareto, the hint what to do."""
