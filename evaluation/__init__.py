"""How good an answer is: metrics, probes, perplexity, alignment. Used by training and by benchmarks."""
