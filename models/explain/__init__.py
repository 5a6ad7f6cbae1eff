"""Second looks at an answer: heads and their roles, attribution, ablation, replaced words, strategies side by side."""
