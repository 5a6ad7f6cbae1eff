"""One file for each task: `preprocess -> forward -> postprocess`, and the attention of its answer."""
