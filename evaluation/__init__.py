"""Measures of the quality of answers (metrics, probes, perplexity, alignment), for training and benchmarks."""
