"""What others offer, on the folds of the experiments: dense Gaussian processes, and sparse ones of GPyTorch."""
