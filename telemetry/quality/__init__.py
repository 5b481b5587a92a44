"""Pure computation over recalls: NDCG, histograms, drift, comparisons, the tuner."""
